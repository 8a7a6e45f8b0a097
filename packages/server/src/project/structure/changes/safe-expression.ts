import { structureErrors } from '../errors.ts'

/**
 * Functions that a developer's expression may call. PostgreSQL evaluates it as the owner of the tables while the
 * structure changes, and later as other people. Therefore each function depends only on its arguments, the clock or chance.
 */
const functions = new Set(
  `abs age array_agg array_append array_cat array_length array_lower array_position array_prepend array_remove
  array_replace array_to_string array_upper avg bit_length bool_and bool_or btrim cardinality ceil ceiling char_length
  character_length chr clock_timestamp coalesce concat concat_ws count date_bin date_part date_trunc decode div encode
  every exp extract floor gen_random_uuid greatest initcap isempty isfinite json_array_length json_build_array
  json_build_object json_typeof jsonb_array_length jsonb_build_array jsonb_build_object jsonb_exists
  jsonb_strip_nulls jsonb_typeof justify_days least left length ln log lower lower_inc lower_inf lpad ltrim make_date
  make_interval make_time make_timestamp make_timestamptz max md5 min mod now nullif num_nonnulls num_nulls octet_length
  overlay phraseto_tsquery plainto_tsquery position power random range_merge regexp_like regexp_match regexp_replace
  repeat replace reverse right round rpad rtrim setweight sha256 sha512 sign similarity split_part sqrt
  st_dwithin st_intersects st_isvalid st_makepoint st_setsrid st_srid st_within starts_with
  statement_timestamp string_agg string_to_array strpos substr substring sum to_char to_date to_json to_jsonb to_number
  to_timestamp to_tsquery to_tsvector translate transaction_timestamp trim trunc upper upper_inc upper_inf uuidv4
  uuidv7 width_bucket daterange int4range int8range numrange tsrange tstzrange`.split(/\s+/),
)

/** Functions of the schema `basalt` about the caller of a request. */
const callerFunctions = new Set([
  'user_id',
  'user_email',
  'email_verified',
  'aal',
  'is_anonymous',
  'session_id',
  'claims',
  'app_metadata',
])

/** Types that may have a length or precision. */
const types = new Set(
  'bit char character decimal halfvec interval numeric sparsevec time timestamp timestamptz timetz varbit varchar varying vector'.split(
    ' ',
  ),
)

/** Key words before a parenthesis. */
const words = new Set(
  `all and any array as between by case cast distinct else end except exists filter from having ilike in intersect is like
  limit not offset on or over row select similar some then to union using when where`.split(/\s+/),
)

/** Key words that end the list of tables of a query, at its depth. */
const afterTables = new Set('where group having order limit offset union intersect except select'.split(' '))

/** Functions that are called without parentheses. */
const valueFunction = /^(?:current_\w+|localtime|localtimestamp|session_user|system_user|user)$/

/** Words that are refused wherever they occur. */
const refused = new Set(
  'call copy delete do execute grant information_schema insert into lock merge operator returning table tablesample truncate uescape update with'.split(
    ' ',
  ),
)

const token =
  /(\s+)|(\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w$]))|('(?:[^'\\]|'')*')|("(?:[^"\\]|"")+")|([a-z_\u0080-\uffff][\w\u0080-\uffff]*)|([+\-*/<>=~!@#%^&|?]+|::?)|([(),.[\]])/iy

/**
 * Checks that an expression of a developer is one expression, calls only known functions, and names nothing of the
 * schemas of Basalt and PostgreSQL. Everything that could be read in another way is refused: backslashes, dollar
 * quotes, comments and strings with a prefix.
 *
 * `value.name` is a call of `name` unless the value has such a field (PostgreSQL, Composite Types: Using Composite Types in
 * Queries). Only the name of a table or its alias may precede the dot, and a function among the tables of a query is refused,
 * because its alias is a value.
 *
 * @throws AppError that names the member
 */
export function requireSafe(text: string, member: string): string {
  const refuse = (problem: string) =>
    structureErrors.invalidStructureChange(member, `${problem} is not allowed for your role`)
  const open: string[] = []
  /** Depths of the parentheses around a query. */
  const queries = new Set<number>()
  /** Depths of the parentheses whose list of tables is being read. */
  const tables = new Set<number>()
  let before: Token | undefined
  let earlier: readonly (string | undefined)[] = []
  token.lastIndex = 0
  while (token.lastIndex < text.length) {
    const at = token.lastIndex
    const match = token.exec(text)
    if (match === null) throw refuse(`"${text.slice(at, at + 1)}"`)
    const read = readToken(match)
    if (read === undefined) {
      before = before && { ...before, isAdjacent: false }
      continue
    }
    const { kind, value } = read
    if (kind === 'operator' && /--|\/\*/.test(value)) throw refuse('a comment')
    const isPrefix = before?.isAdjacent === true && before.kind === 'word'
    if (isPrefix && (kind === 'text' || kind === 'quoted')) throw refuse('a string with a prefix')
    if (isPrefix && before?.value === 'u' && value.startsWith('&')) throw refuse('a string with a prefix')
    if (kind === 'word' && refused.has(value)) throw refuse(value)
    if ((kind === 'word' || kind === 'quoted') && /^pg_/.test(value)) throw refuse(value)
    if (kind === 'quoted' && /^(basalt|information_schema)$/.test(value)) throw refuse(value)
    if (value === '(' && kind === 'mark') requireCallable(before, earlier, refuse)
    if (value === '.' && kind === 'mark' && isValue(before)) throw refuse('a name after a value')
    // After a dot, every word is a name.
    if (kind === 'word' && before?.value !== '.') {
      if (value === 'from' && queries.has(open.length)) tables.add(open.length)
      else if (afterTables.has(value)) tables.delete(open.length)
      else if (tables.has(open.length) && valueFunction.test(value)) throw refuse('a function among tables')
    }
    if (kind === 'word' && value === 'select') queries.add(open.length)
    // A name of the schema `basalt` is that of a function about the caller.
    if (earlier.at(-2) === 'basalt' && earlier.at(-1) === '.' && !callerFunctions.has(value)) {
      throw refuse(`basalt.${value}`)
    }
    if (kind === 'mark' && '(['.includes(value)) {
      const isCall = before?.kind === 'word' && (before.value === 'cast' || !words.has(before.value))
      const isAmongTables = tables.has(open.length)
      if (isAmongTables && isCall) throw refuse('a function among tables')
      open.push(value)
      // A join in parentheses. A query begins with `select`.
      if (isAmongTables) tables.add(open.length)
    } else if (kind === 'mark' && ')]'.includes(value)) {
      for (const depths of [queries, tables]) depths.delete(open.length)
      if (open.pop() !== (value === ')' ? '(' : '[')) throw refuse(`"${value}" without its beginning`)
    } else if (value === ',' && open.length === 0) throw refuse('more than one expression')
    before = { ...read, isAdjacent: true }
    earlier = [...earlier.slice(-2), value]
  }
  if (before === undefined) throw structureErrors.invalidStructureChange(member, 'expected an expression')
  if (open.length > 0) throw refuse(`"${open.at(-1)}" without its end`)
  return text.trim()
}

interface Token {
  readonly kind: 'number' | 'text' | 'quoted' | 'word' | 'operator' | 'mark'
  readonly value: string
  /** True if the next token follows without a space. */
  readonly isAdjacent: boolean
}

/** Returns true for the end of an expression that is not a name. */
function isValue(before: Token | undefined): boolean {
  if (before === undefined) return false
  return (
    before.kind === 'text' ||
    before.kind === 'number' ||
    (before.kind === 'mark' && ')]'.includes(before.value))
  )
}

/** Returns the token of a match; undefined for a space. */
function readToken([, space, number, text, quoted, word, operator, mark]: RegExpExecArray):
  | Omit<Token, 'isAdjacent'>
  | undefined {
  if (space !== undefined) return undefined
  if (number !== undefined) return { kind: 'number', value: number }
  if (text !== undefined) return { kind: 'text', value: text }
  if (quoted !== undefined) return { kind: 'quoted', value: quoted.slice(1, -1).replaceAll('""', '"') }
  if (word !== undefined) return { kind: 'word', value: word.toLowerCase() }
  return operator === undefined ? { kind: 'mark', value: mark ?? '' } : { kind: 'operator', value: operator }
}

/** Checks the token before a parenthesis: a key word, a known function, an operator, or nothing. */
function requireCallable(
  before: Token | undefined,
  earlier: readonly (string | undefined)[],
  refuse: (problem: string) => Error,
): void {
  if (before === undefined || before.kind === 'operator') return
  const { kind, value } = before
  if (kind === 'mark' && '([,'.includes(value)) return
  const isQualified = earlier.at(-2) === '.'
  if (kind === 'word' && !isQualified && (words.has(value) || functions.has(value) || types.has(value)))
    return
  // Qualified names of the schema have been checked.
  if (kind === 'word' && isQualified && earlier.at(-3) === 'basalt') return
  throw refuse(`${value}(…)`)
}

const typePattern =
  /^(?:[a-z_][a-z0-9_]*|"[^"\\]+")(?:\.(?:[a-z_][a-z0-9_]*|"[^"\\]+"))?(?:\s*\(\s*\w+\s*(?:,\s*-?\d+\s*)?\))?(?:\s*\[\s*\])*$/i
const standardTypePattern =
  /^(?:double\s+precision|(?:character|char|bit)\s+varying(?:\s*\(\s*\d+\s*\))?|time(?:stamp)?(?:\s*\(\s*\d\s*\))?\s+with(?:out)?\s+time\s+zone)(?:\s*\[\s*\])*$/i

/** Checks that a text is the name of a type and nothing more. @throws AppError that names the member */
export function requireType(text: string, member: string): string {
  const trimmed = text.trim()
  if (typePattern.test(trimmed) || standardTypePattern.test(trimmed)) return trimmed
  throw structureErrors.invalidStructureChange(member, 'expected the name of a type')
}
