import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { FileViewOutput as FileView } from "../../api/types.gen";
import { bytes } from "../../data/format";
import { readFile } from "../../data/queries";
import { ProblemNote } from "../../parts/ProblemNote";

const MOST = 1024 * 1024;
const IMAGES: Record<string, string> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" };

/** Images, and everything else as text. HTML, SVG and notebooks are shown as their source: they could run as a page. */
export function Preview({ run, file }: { run: string; file: FileView }) {
  const type = IMAGES[file.path.slice(file.path.lastIndexOf(".") + 1).toLowerCase()];
  const { data, error } = useQuery({
    queryKey: ["run", run, "preview", file.path, file.digest ?? file.size],
    queryFn: () => readFile(run, file.path, type ? undefined : { offset: 0, limit: MOST }),
    gcTime: 60_000,
  });
  if (error) return <ProblemNote error={error} />;
  if (!data) return <p className="soft">Loading …</p>;
  return (
    <section className="card preview">
      <h2>
        {file.path} <span>{bytes(file.size)}</span>
      </h2>
      {type ? <Image blob={new Blob([data], { type })} name={file.path} /> : <Text blob={data} isCut={file.size > MOST} />}
    </section>
  );
}

function Image({ blob, name }: { blob: Blob; name: string }) {
  const [address, setAddress] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return address ? <img src={address} alt={name} /> : null;
}

function Text({ blob, isCut }: { blob: Blob; isCut: boolean }) {
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    void blob.text().then((read) => {
      if (isCurrent) setText(read);
    });
    return () => {
      isCurrent = false;
    };
  }, [blob]);
  if (text === null) return null;
  const isBinary = text.slice(0, 4096).includes("\u0000");
  if (isBinary) return <p className="soft">This file is not text. Download it to open it.</p>;
  return (
    <>
      <pre>{text}</pre>
      {isCut ? <p className="soft">Only the first {bytes(MOST)} are shown. Download the file for the rest.</p> : null}
    </>
  );
}
