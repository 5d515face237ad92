/** Search among many names. Pure. */

/** The first names that contain all words of a text, and how many more there are. Exact beginnings come first. */
export function matchingNames(names: string[], text: string, most: number): { shown: string[]; more: number } {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return { shown: names.slice(0, most), more: Math.max(0, names.length - most) };
  const first: string[] = [];
  const others: string[] = [];
  for (const name of names) {
    const lower = name.toLowerCase();
    if (!words.every((word) => lower.includes(word))) continue;
    const begins = lower.startsWith(words[0] ?? "") || lower.slice(lower.indexOf(".") + 1).startsWith(words[0] ?? "");
    (begins ? first : others).push(name);
  }
  const matching = [...first, ...others];
  return { shown: matching.slice(0, most), more: Math.max(0, matching.length - most) };
}
