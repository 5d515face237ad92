import { useMemo, useState } from "react";

const MOST = 200;

/** JSON as a tree whose parts open; as text if it is not JSON. */
export function JsonText({ text }: { text: string }) {
  const parsed = useMemo(() => {
    try {
      return { value: JSON.parse(text) as unknown };
    } catch {
      return null;
    }
  }, [text]);
  return parsed ? <JsonValue name="" value={parsed.value} depth={0} /> : <pre>{text}</pre>;
}

function JsonValue({ name, value, depth }: { name: string; value: unknown; depth: number }) {
  const [isOpen, setOpen] = useState(depth < 2);
  const label = name ? <span className="soft">{name}: </span> : null;
  if (value === null || typeof value !== "object") {
    return (
      <div className="json">
        {label}
        <code>{JSON.stringify(value)}</code>
      </div>
    );
  }
  const entries = Object.entries(value);
  return (
    <details className="json" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {label}
        {Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`}
      </summary>
      {isOpen ? entries.slice(0, MOST).map(([key, each]) => <JsonValue key={key} name={key} value={each} depth={depth + 1} />) : null}
      {isOpen && entries.length > MOST ? <p className="soft">and {(entries.length - MOST).toLocaleString("en")} more</p> : null}
    </details>
  );
}
