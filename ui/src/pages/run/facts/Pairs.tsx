/** Names and values, one below the other. */
export function Pairs({ title, rows, children }: { title: string; rows: [string, string][]; children?: React.ReactNode }) {
  if (rows.length === 0) return null;
  return (
    <section className="card" aria-label={title}>
      <h2>{title}</h2>
      <table className="pairs">
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
          {children}
        </tbody>
      </table>
    </section>
  );
}
