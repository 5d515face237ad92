import { useRef } from "react";
import { conditionsOf, withCondition, withoutCondition } from "../../data/filterText";
import { useShortcuts } from "../../parts/useShortcuts";
import { FilterField } from "./FilterField";
import { titleOf } from "../../data/columns";

interface Props {
  workspace: string;
  where: string;
  group: string | undefined;
  archived: boolean;
  count: string;
  onWhere: (where: string) => void;
  onUngroup: () => void;
  onUnarchive: () => void;
}

/** Everything that decides which runs are shown, each with a cross, and a field for one more condition. */
export function Filters({ workspace, where, group, archived, count, onWhere, onUngroup, onUnarchive }: Props) {
  const field = useRef<HTMLInputElement>(null);
  useShortcuts({ "/": () => field.current?.focus() });
  const conditions = conditionsOf(where);
  return (
    <div className="filters" role="search">
      {archived ? <Chip text="archived" label="Show runs that are not archived" onRemove={onUnarchive} /> : null}
      {group ? <Chip text={`by ${titleOf(group)}`} label="Remove the grouping" onRemove={onUngroup} /> : null}
      {conditions.map((condition, index) => (
        <Chip
          key={`${index} ${condition}`}
          text={condition}
          label={`Remove the filter ${condition}`}
          onRemove={() => onWhere(withoutCondition(where, index))}
        />
      ))}
      {conditions.length > 1 ? (
        <button type="button" className="quiet soft" onClick={() => onWhere("")}>
          clear
        </button>
      ) : null}
      <FilterField workspace={workspace} field={field} onAdd={(condition) => onWhere(withCondition(where, condition))} />
      <span className="soft count" role="status" aria-label="Number of runs">
        {count}
      </span>
    </div>
  );
}

function Chip({ text, label, onRemove }: { text: string; label: string; onRemove: () => void }) {
  return (
    <span className="chip">
      <code>{text}</code>
      <button type="button" aria-label={label} title={label} onClick={onRemove}>
        ×
      </button>
    </span>
  );
}
