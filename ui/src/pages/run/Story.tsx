import { useQuery } from "@tanstack/react-query";
import type { RunView } from "../../api/types.gen";
import { duration, exactTime } from "../../data/format";
import { story as storyQuery } from "../../data/queries";
import { markOf } from "../../data/runStates";
import { StateMark } from "../../parts/StateMark";

/** Everything that happened to a run, in order. */
export function Story({ run }: { run: RunView }) {
  const { data: story = [] } = useQuery(storyQuery(run.id));
  const begin = story[0]?.time ?? run.created;
  return (
    <div className="page">
      <table className="story">
        <thead>
          <tr>
            <th className="num">After</th>
            <th>Status</th>
            <th>What happened</th>
          </tr>
        </thead>
        <tbody>
          {story.map((line) => (
            <tr key={line.seq}>
              <td className="num" title={exactTime(line.time)}>
                {duration(Math.max(0, line.time - begin))}
              </td>
              <td>
                <StateMark mark={markOf(line)} />
                {line.status}
              </td>
              <td>{line.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
