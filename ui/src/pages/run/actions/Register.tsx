import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { registerModel } from "../../../api/sdk.gen";
import type { RunView } from "../../../api/types.gen";
import { files as filesQuery } from "../../../data/queries";
import { ProblemNote } from "../../../parts/ProblemNote";
import { Dialog } from "./Dialog";

interface Props {
  run: RunView;
  workspace: string;
  onClose: () => void;
}

/** A file or folder of the run as a new version of a model. */
export function Register({ run, workspace, onClose }: Props) {
  const { data: files = [] } = useQuery(filesQuery(run.id));
  const paths = choices(files.map((file) => file.path));
  const [name, setName] = useState("");
  const [path, setPath] = useState<string>();
  const [key] = useState(() => crypto.randomUUID());
  const chosen = path ?? paths[0] ?? "";
  const register = useMutation({
    mutationFn: async () => (await registerModel({ path: { workspace }, body: { key, name: name.trim(), run: run.id, run_path: chosen } })).data,
  });
  return (
    <Dialog title="Register a model" onClose={onClose}>
      {register.data ? (
        <p role="status">
          {register.data.name}:{register.data.version} is registered. Read it with <code>footplate models show {register.data.name}</code>
        </p>
      ) : (
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            register.mutate();
          }}
        >
          <label>
            Name of the model
            <input required value={name} onChange={({ target }) => setName(target.value)} />
          </label>
          <label>
            File or folder
            <select value={chosen} onChange={({ target }) => setPath(target.value)}>
              {paths.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
          {paths.length === 0 ? <p className="soft">The run has no file under outputs/.</p> : null}
          {register.error ? <ProblemNote error={register.error} /> : null}
          <div className="tools">
            <button type="submit" className="main" disabled={register.isPending || !chosen || !name.trim()}>
              Register
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** Folders and files of the outputs. */
function choices(files: string[]): string[] {
  const outputs = files.filter((path) => path.startsWith("outputs/"));
  const folders = outputs.flatMap((path) => path.split("/").slice(0, -1).map((_, depth, parts) => parts.slice(0, depth + 1).join("/")));
  return [...new Set([...folders, ...outputs])].sort();
}
