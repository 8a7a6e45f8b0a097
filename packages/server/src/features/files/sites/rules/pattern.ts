/** Pattern of a rule path: fixed segments and placeholders, and an optional splat that matches the rest. */
export interface PathPattern {
  readonly segments: readonly PatternSegment[]
  /** Text around `*` in its segment. Undefined: the path ends here. */
  readonly splat: { readonly before: string; readonly after: string } | undefined
}

export type PatternSegment = { readonly text: string } | { readonly placeholder: string }

/** Values of placeholders and the splat. The rest of the path is `splat`. */
export type PathValues = ReadonlyMap<string, string>

/**
 * Parses a path pattern.
 *
 * @returns the problem as a text if it is no pattern
 */
export function parsePattern(text: string): PathPattern | string {
  if (!text.startsWith('/')) return 'the path must begin with a slash'
  if (/[?#]/.test(text)) return 'the path must have no query and no fragment'
  const parts = splitPath(text.slice(1))
  const segments: PatternSegment[] = []
  for (const [index, part] of parts.entries()) {
    if (part.includes('*')) {
      const [before = '', after = '', ...others] = part.split('*')
      if (index < parts.length - 1 || others.length > 0) return 'only one * may stand in a path, at its end'
      const ends = [decode(before), decode(after)] as const
      if (ends[0] === undefined || ends[1] === undefined) return 'the path is not percent-encoded UTF-8'
      return { segments, splat: { before: ends[0], after: ends[1] } }
    }
    const placeholder = /^:([a-z_]\w*)$/i.exec(part)?.[1]
    const fixed = decode(part)
    if (fixed === undefined) return 'the path is not percent-encoded UTF-8'
    const isDuplicate = segments.some((each) => 'placeholder' in each && each.placeholder === placeholder)
    if (placeholder === 'splat' || isDuplicate) return `:${placeholder} stands for two things`
    segments.push(placeholder === undefined ? { text: fixed } : { placeholder })
  }
  return { segments, splat: undefined }
}

/** Matches a path of the site, given without its leading slash. A trailing slash makes no difference. */
export function matchPattern({ segments, splat }: PathPattern, path: string): PathValues | undefined {
  const parts = splitPath(path)
  if (parts.length < segments.length) return undefined
  const values = new Map<string, string>()
  for (const [index, segment] of segments.entries()) {
    const part = parts[index] ?? ''
    if ('placeholder' in segment) values.set(segment.placeholder, part)
    else if (segment.text !== part) return undefined
  }
  const rest = parts.slice(segments.length).join('/')
  if (splat === undefined) return rest === '' ? values : undefined
  const { before, after } = splat
  const isMatch =
    rest.length >= before.length + after.length && rest.startsWith(before) && rest.endsWith(after)
  return isMatch ? values.set('splat', rest.slice(before.length, rest.length - after.length)) : undefined
}

/** Returns the only path of a pattern without placeholders and splat, in the form of {@link normalizePath}. */
export function onlyPathOf({ segments, splat }: PathPattern): string | undefined {
  const texts = segments.map((segment) => ('text' in segment ? segment.text : undefined))
  return splat === undefined && texts.every((text) => text !== undefined) ? texts.join('/') : undefined
}

/** Returns the path without a trailing slash. */
export function normalizePath(path: string): string {
  return splitPath(path).join('/')
}

/** Returns the names that a template may use. */
export function namesOf({ segments, splat }: PathPattern): ReadonlySet<string> {
  const names = segments.flatMap((segment) => ('placeholder' in segment ? [segment.placeholder] : []))
  return new Set(splat === undefined ? names : [...names, 'splat'])
}

function splitPath(path: string): string[] {
  const parts = path.split('/')
  return parts.at(-1) === '' ? parts.slice(0, -1) : parts
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text).normalize('NFC')
  } catch {
    return undefined
  }
}
