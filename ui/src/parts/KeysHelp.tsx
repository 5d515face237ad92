import { Window } from "./Window";

const KEYS: [string, string][] = [
  ["⌘K, Ctrl-K", "Go to a run, a page or an action"],
  ["/", "Write a filter"],
  ["j, k", "Next run, previous run"],
  ["Enter", "Open the run"],
  ["x, Shift-x", "Select the run; all runs from the last selected one"],
  ["Shift-← →", "On the title of a column: narrower, wider"],
  ["Alt-← →", "On the title of a column: move it"],
  ["?", "Show these keys"],
  ["Esc", "Close"],
];

export default function KeysHelp({ onClose }: { onClose: () => void }) {
  return (
    <Window title="Keys" isOpen onClose={onClose}>
      <table className="pairs keys">
        <tbody>
          {KEYS.map(([keys, meaning]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Window>
  );
}
