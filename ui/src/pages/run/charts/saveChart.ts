import { getMetrics } from "../../../api/sdk.gen";
import { csvOf } from "../../../data/run/plotData";
import { saveBlob } from "../saveFile";

/** Save what a chart shows, with its title, on the colour of the page. */
export function savePicture(card: HTMLElement, title: string): void {
  const drawn = card.querySelector("canvas");
  if (!drawn) return;
  const style = getComputedStyle(card);
  const scale = devicePixelRatio;
  const picture = document.createElement("canvas");
  picture.width = drawn.width;
  picture.height = drawn.height + 24 * scale;
  const context = picture.getContext("2d");
  if (!context) return;
  context.fillStyle = style.getPropertyValue("--panel");
  context.fillRect(0, 0, picture.width, picture.height);
  context.fillStyle = style.getPropertyValue("--ink");
  context.font = `600 ${12 * scale}px ${style.fontFamily}`;
  context.fillText(title, 8 * scale, 16 * scale);
  context.drawImage(drawn, 0, 24 * scale);
  picture.toBlob((blob) => blob && saveBlob(blob, `${fileName(title)}.png`));
}

/** Save every point as logged. */
export async function saveCsv(run: string, name: string, system: boolean): Promise<void> {
  const { data } = await getMetrics({ path: { run }, query: { name, system } });
  const points = (data[run]?.[0]?.points ?? []) as [number, number | null, unknown][];
  saveBlob(new Blob([csvOf(points)], { type: "text/csv" }), `${fileName(name)}.csv`);
}

function fileName(text: string): string {
  return text.replace(/[^\p{L}\p{N}._-]+/gu, "_");
}
