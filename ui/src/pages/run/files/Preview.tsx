import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";
import type { FileViewOutput as FileView } from "../../../api/types.gen";
import { bytes } from "../../../data/format";
import { readFile } from "../../../data/queries";
import { type FileKind, kindOf } from "../../../data/run/tables";
import { ProblemNote } from "../../../parts/ProblemNote";
import { Markdown } from "../Markdown";
import { CsvTable } from "./DataTable";
import { JsonText } from "./JsonTree";

const MOST = 1024 * 1024;
const MEDIA = ["image", "audio", "video"];

const Parquet = lazy(() => import("./Parquet").then((module) => ({ default: module.Parquet })));
const Notebook = lazy(() => import("./Notebook").then((module) => ({ default: module.Notebook })));

/** A file as what it is. HTML, SVG and PDF are shown as their source: they could run as a page. */
export function Preview({ run, file }: { run: string; file: FileView }) {
  const { kind, type } = kindOf(file.path);
  return (
    <section className="card preview" aria-label={file.path}>
      <h2>
        {file.path} <span>{bytes(file.size)}</span>
      </h2>
      <Suspense fallback={<p className="soft">Loading …</p>}>
        {kind === "parquet" ? <Parquet run={run} file={file} /> : MEDIA.includes(kind) ? <Media run={run} file={file} kind={kind} type={type} /> : <Text run={run} file={file} kind={kind} />}
      </Suspense>
    </section>
  );
}

function Media({ run, file, kind, type }: { run: string; file: FileView; kind: FileKind; type: string }) {
  const { data, error } = useQuery({ queryKey: ["run", run, "media", file.path, file.digest ?? file.size], queryFn: () => readFile(run, file.path), gcTime: 60_000 });
  const [address, setAddress] = useState("");
  useEffect(() => {
    if (!data) return;
    const made = URL.createObjectURL(new Blob([data], { type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [data, type]);
  if (error) return <ProblemNote error={error} />;
  if (!address) return <p className="soft">Loading …</p>;
  if (kind === "image") return <img src={address} alt={file.path} />;
  return kind === "audio" ? <audio controls src={address} aria-label={file.path} /> : <video controls src={address} aria-label={file.path} />;
}

function Text({ run, file, kind }: { run: string; file: FileView; kind: FileKind }) {
  const { data: text, error } = useQuery({
    queryKey: ["run", run, "text", file.path, file.digest ?? file.size],
    queryFn: async () => (await readFile(run, file.path, { offset: 0, limit: MOST })).text(),
    gcTime: 60_000,
  });
  if (error) return <ProblemNote error={error} />;
  if (text === undefined) return <p className="soft">Loading …</p>;
  const isCut = file.size > MOST;
  return (
    <>
      <Read text={text} kind={isCut && kind !== "csv" ? "text" : kind} />
      {isCut ? <p className="soft">Only the first {bytes(MOST)} are shown. Download the file for the rest.</p> : null}
    </>
  );
}

function Read({ text, kind }: { text: string; kind: FileKind }) {
  if (kind === "csv") return <CsvTable text={text} />;
  if (kind === "json") return <JsonText text={text} />;
  if (kind === "notebook") return <Notebook text={text} />;
  if (kind === "markdown") return <Markdown text={text} />;
  if (text.slice(0, 4096).includes("\u0000")) return <p className="soft">This file is not text. Download it to open it.</p>;
  return <pre>{text}</pre>;
}
