import { CopyButton } from "../../parts/CopyButton";

const CODE = `from azureml.core import Experiment, ScriptRunConfig, Workspace

workspace = Workspace.from_config()
Experiment(workspace, "first").submit(ScriptRunConfig(".", script="train.py"))`;

/** What an empty workspace shows: the lines that fill it. */
export function FirstRun() {
  return (
    <section className="empty">
      <h1>No runs yet</h1>
      <p>In the folder of a script, run one of these. The run appears here at once.</p>
      <pre>footplate run train.py</pre>
      <CopyButton text="footplate run train.py" />
      <pre>{CODE}</pre>
      <CopyButton text={CODE} />
    </section>
  );
}
