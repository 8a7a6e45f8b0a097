/** A file of cases as `basalt policy test` reads it. */
export interface CaseDocument {
  readonly comment: readonly string[]
  readonly setup: readonly string[]
  readonly users: Readonly<Record<string, CaseUser>>
  readonly keys: Readonly<
    Record<string, { readonly user: string; readonly scope: string; readonly tables: readonly string[] }>
  >
  readonly cases: readonly Readonly<Record<string, unknown>>[]
}

export interface CaseUser {
  readonly id: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly is_anonymous?: boolean
}

/** Pure. */
export function renderCaseFile({ comment, setup, users, keys, cases }: CaseDocument): string {
  const sections = [
    comment.map((line) => `# ${line.replaceAll(/\p{Cc}/gu, ' ')}`).join('\n'),
    ...(setup.length === 0 ? [] : [`setup = """\n${setup.map(escapeLines).join('\n')}\n"""`]),
    ...Object.entries(users).map(([name, user]) => renderTable(`[users.${name}]`, { ...user })),
    ...Object.entries(keys).map(([name, { tables, ...key }]) =>
      renderTable(`[keys.${name}]`, tables.length === 0 ? key : { ...key, tables }),
    ),
    ...cases.map((each) => renderTable('[[case]]', each)),
  ]
  return `${sections.join('\n\n')}\n`
}

function renderTable(header: string, fields: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(fields).map(([name, value]) => `${renderKey(name)} = ${renderValue(value)}`)
  return [header, ...lines].join('\n')
}

function renderKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : renderText(name)
}

/** TOML has no null: such members are left out, as in a body that does not name them. */
function renderValue(value: unknown): string {
  if (typeof value === 'string') return renderText(value)
  if (Array.isArray(value))
    return `[${value
      .filter((each) => each !== null)
      .map(renderValue)
      .join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return `{ ${members.map(([name, member]) => `${renderKey(name)} = ${renderValue(member)}`).join(', ')} }`
}

/** A basic string of TOML has the escapes of JSON; only DEL must be escaped besides. */
function renderText(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f')
}

/** For a multi-line basic string: quotes stand as they are, but for three of them. */
function escapeLines(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('"""', '""\\"')
    .replaceAll(/(?![\t\n])\p{Cc}/gu, (found) => renderText(found).slice(1, -1))
}
