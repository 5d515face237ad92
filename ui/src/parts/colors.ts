/** A colour-blind-safe set (Okabe and Ito). A run keeps its colour everywhere on a page. */
const COLORS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];

export function colorOf(index: number): string {
  return COLORS[index % COLORS.length] ?? "--c1";
}
