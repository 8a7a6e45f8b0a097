import { type Finding, type Status, statuses } from './check.ts'

/** Result of all checks, as `--json` prints it. */
export interface Report {
  /** Worst status of the findings: `failure`, `warning` or `ok`. */
  readonly status: Exclude<Status, 'skipped'>
  readonly counts: Readonly<Record<Status, number>>
  readonly findings: readonly Finding[]
}

export function summarize(findings: readonly Finding[]): Report {
  const count = (status: Status) => findings.filter((finding) => finding.status === status).length
  const counts = {
    ok: count('ok'),
    warning: count('warning'),
    failure: count('failure'),
    skipped: count('skipped'),
  }
  return {
    status: counts.failure > 0 ? 'failure' : counts.warning > 0 ? 'warning' : 'ok',
    counts,
    findings,
  }
}

/** Select Graphic Rendition codes of the colors (ECMA-48). */
const colors: Readonly<Record<Status, number>> = { ok: 32, warning: 33, failure: 31, skipped: 90 }

/** Formats the report for people: failures first, each with the line that resolves it. */
export function formatReport({ findings, counts }: Report, isColored: boolean): string {
  const paint = (text: string, status: Status) => (isColored ? `\x1b[${colors[status]}m${text}\x1b[0m` : text)
  const order: readonly Status[] = ['failure', 'warning', 'ok', 'skipped']
  const sorted = order.flatMap((status) => findings.filter((finding) => finding.status === status))
  const statusWidth = Math.max(...statuses.map((status) => status.length))
  const idWidth = Math.max(0, ...sorted.map(({ id }) => id.length))
  const lines = sorted.flatMap(({ id, status, message, fix }) => [
    `${paint(status.padEnd(statusWidth), status)}  ${id.padEnd(idWidth)}  ${message}`,
    ...(fix === null ? [] : [`${' '.repeat(statusWidth + idWidth + 4)}→ ${fix}`]),
  ])
  const total = order
    .filter((status) => counts[status] > 0)
    .map(
      (status) =>
        `${counts[status]} ${status === 'ok' || counts[status] === 1 || status === 'skipped' ? status : `${status}s`}`,
    )
  return `${[...lines, '', total.join(', ')].join('\n')}\n`
}
