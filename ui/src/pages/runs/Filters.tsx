import { type FormEvent, useState } from "react";
import { conditionsOf } from "./columns";

/** Each condition of the filter as a chip with a cross, and a field for one more. */
export function Filters({ where, onChange }: { where: string; onChange: (where: string) => void }) {
  const [text, setText] = useState("");
  const conditions = conditionsOf(where);

  function add(event: FormEvent) {
    event.preventDefault();
    if (text.trim()) onChange([...conditions, text.trim()].join(" and "));
    setText("");
  }

  return (
    <form className="filters" onSubmit={add} role="search">
      {conditions.map((condition) => (
        <span className="chip" key={condition}>
          <code>{condition}</code>
          <button
            type="button"
            aria-label={`Remove the filter ${condition}`}
            onClick={() => onChange(conditions.filter((each) => each !== condition).join(" and "))}
          >
            ×
          </button>
        </span>
      ))}
      <input
        aria-label="Filter"
        placeholder="metrics.loss < 0.2, params.lr == 0.1, status == Failed"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {conditions.length > 0 ? (
        <button type="button" className="quiet" onClick={() => onChange("")}>
          clear
        </button>
      ) : null}
    </form>
  );
}
