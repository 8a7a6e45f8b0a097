/**
 * Pattern of the relevant tokens of SQL (PostgreSQL, Lexical Structure), for one pass. An unclosed token takes the
 * rest. Otherwise a text full of openings would take quadratic time.
 */
const tokens =
  /--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|(?:[uU]&)?'(?:[^']|'')*(?:'|$)|(?<opening>\$(?:[A-Za-z_]\w*)?\$)(?<body>[\s\S]*?)(?<closing>\k<opening>|$)|"[^"]*(?:"|$)|[\w$]+|\s+|[\s\S]/g

/** Pattern of `password 'x'`, `password => 'x'`, `"password" = 'x'`, with blanks and comments between. */
const isPassword = /^"?password"?$/i
const isBetween = /^(?:\s|--|\/\*|[=>:]$)/
const inConnectionString = /(\bpassword\s*=(?!>)\s*)(?!'\[redacted\]')(?:\\?'[^']*'|[^\s'"]+)/gi

/** Pattern of statements whose strings are options and passwords of other servers, anywhere in a script. */
const ofConnections =
  /\b(?:create|alter)\s+(?:user\s+mapping|server|subscription)\b|\bdblink(?:_connect(?:_u)?|_exec)?\s*\(/i

/** Maximum nesting of function bodies. */
const mostNested = 4

/** Returns a statement for the history and the audit log. A possible password becomes `[redacted]`. */
export function redactStatement(text: string): string {
  const withoutLiterals = redactLiterals(text, ofConnections.test(text), mostNested)
  return withoutLiterals.replace(inConnectionString, (_match, before: string) => `${before}[redacted]`)
}

function redactLiterals(text: string, isEach: boolean, nested: number): string {
  let isAfterPassword = false
  let redacted = ''
  for (const { 0: token, groups } of text.matchAll(tokens)) {
    const { opening = '', body, closing = '' } = groups ?? {}
    const isLiteral = body !== undefined || /^(?:e|u&)?'/i.test(token)
    if (isLiteral && (isEach || isAfterPassword)) redacted += "'[redacted]'"
    else if (body !== undefined && nested > 0) {
      redacted += `${opening}${redactLiterals(body, isEach, nested - 1)}${closing}`
    } else redacted += token
    isAfterPassword = isPassword.test(token) || (isAfterPassword && isBetween.test(token))
  }
  return redacted
}
