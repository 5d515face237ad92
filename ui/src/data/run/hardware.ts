/** The samples of machines, as people name them. Pure. */
import { bytes, number } from "../format";

const SAMPLE = /^system\/node_(\d+)\/(.+)$/;
const WORDS: Record<string, string> = { cpu: "CPU", gpu: "GPU", rss: "memory" };

/** `system/node_0/gpu_1_memory_used_bytes` is "GPU 1 memory used" of node 0. */
export function sampleTitle(name: string): string {
  const words = (SAMPLE.exec(name)?.[2] ?? name).replace(/_(bytes|percent)$/, "").split("_");
  const text = words.map((word) => WORDS[word] ?? word).join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1) + (name.endsWith("_percent") ? ", %" : "");
}

export function nodeOf(name: string): number | null {
  const node = SAMPLE.exec(name)?.[1];
  return node === undefined ? null : Number(node);
}

export function sampleFormat(name: string): (value: number) => string {
  if (name.endsWith("_bytes")) return bytes;
  if (name.endsWith("_percent")) return (value) => `${number(Math.round(value * 10) / 10)} %`;
  return number;
}

const ORDER = ["gpu", "cpu", "memory", "process", "disk", "network"];

/** By node; in it the scarce things first. */
export function orderedSamples(names: string[]): string[] {
  const rank = (name: string) => {
    const what = SAMPLE.exec(name)?.[2] ?? "";
    const at = ORDER.findIndex((word) => what.startsWith(word));
    return at < 0 ? ORDER.length : at;
  };
  return [...names].sort((a, b) => (nodeOf(a) ?? 0) - (nodeOf(b) ?? 0) || rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true }));
}
