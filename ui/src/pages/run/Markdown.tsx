import { useQuery } from "@tanstack/react-query";
import { ProblemNote } from "../../parts/ProblemNote";

/** Markdown of users: the library that reads and the one that cleans it load with the first text. */
export function Markdown({ text }: { text: string }) {
  const { data: html, error } = useQuery({
    queryKey: ["markdown", text],
    queryFn: async () => (await import("../../data/run/markdown")).safeHtml(text),
    gcTime: 60_000,
  });
  if (error) return <ProblemNote error={error} />;
  if (html === undefined) return <p className="text">{text}</p>;
  return <div className="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}
