import { collectionErrors } from '../errors.ts'

/**
 * Patterns, each of which consumes as much as possible from one position. None can match the same text in two ways.
 */
const patterns = {
  space: /\s*/y,
  sign: /[+-]?/y,
  /** Name in double quotes, which may hold any character; `""` is a quote. */
  quoted: /"((?:[^"]|"")+)"(?!")/y,
  /** Bare name, which may hold anything but commas and quotes. */
  bare: /[^",]+/y,
  /** Bare segment of a path, between its dots. */
  segment: /[^",.]+/y,
}

export interface PrefixedName {
  readonly prefix: '' | '+' | '-'
  readonly name: string
}

/**
 * Splits a comma-separated list of names, each with an optional sign. An empty text gives an empty list.
 *
 * @throws AppError invalid_parameter
 */
export function parsePrefixedNames(text: string, parameter: string): PrefixedName[] {
  return parseList(text, parameter, (reader) => {
    // The pattern matches exactly these prefixes.
    const prefix = reader.take(patterns.sign) as PrefixedName['prefix']
    return { prefix, name: reader.takeName(patterns.bare) }
  })
}

/** Splits a comma-separated list of names without signs. */
export function parseNames(text: string, parameter: string): string[] {
  return parsePrefixedNames(text, parameter).map(({ prefix, name }) => prefix + name)
}

/**
 * Splits a comma-separated list of paths, whose names are joined by dots. A name with a dot is quoted.
 *
 * @throws AppError invalid_parameter
 */
export function parsePaths(text: string, parameter: string): string[][] {
  return parseList(text, parameter, (reader) => reader.takePath())
}

/** Name in a list of names, with an optional sign. */
export interface PrefixedPath extends PrefixedName {
  /** Names between the dots of the name; undefined if it has none, or if one of them is empty. */
  readonly path: readonly string[] | undefined
  /** True if it can only be a path, because one of its names is quoted. */
  readonly isPath: boolean
}

/**
 * Splits a comma-separated list of names or paths, each with an optional sign. A bare name with dots may be either one:
 * a column may have dots in its name. A path with a quoted name is a path.
 *
 * @throws AppError invalid_parameter
 */
export function parsePrefixedPaths(text: string, parameter: string): PrefixedPath[] {
  return parseList(text, parameter, (reader) => {
    const prefix = reader.take(patterns.sign) as PrefixedName['prefix']
    const bare = reader.takeBareItem()
    if (bare !== undefined) {
      const names = bare.split('.').map((name) => name.trim())
      const mayBePath = names.length > 1 && names.every((name) => name !== '')
      return { prefix, name: bare, path: mayBePath ? names : undefined, isPath: false }
    }
    const path = reader.takePath()
    const isPath = path.length > 1
    return { prefix, name: path.join('.'), path: isPath ? path : undefined, isPath }
  })
}

/** Quotes a name so that these lists read it back, whatever it holds. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function parseList<Item>(text: string, parameter: string, readItem: (reader: NameReader) => Item): Item[] {
  if (text.trim() === '') return []
  const reader = new NameReader(text, parameter)
  const items: Item[] = []
  do {
    reader.startItem()
    items.push(readItem(reader))
  } while (reader.takeIf(','))
  if (!reader.isAtEnd) throw reader.fault()
  return items
}

class NameReader {
  readonly #text: string
  readonly #parameter: string
  #position = 0
  #itemStart = 0

  constructor(text: string, parameter: string) {
    this.#text = text
    this.#parameter = parameter
  }

  get isAtEnd(): boolean {
    return this.#position === this.#text.length
  }

  startItem(): void {
    this.#itemStart = this.#position
    this.take(patterns.space)
    if (this.#itemStart > 0 && this.isAtEnd) {
      throw collectionErrors.invalidParameter(`${this.#parameter}: expected a name after the last comma`)
    }
  }

  take(pattern: RegExp): string {
    return this.#match(pattern)?.[0] ?? ''
  }

  takeIf(character: string): boolean {
    if (this.#text[this.#position] !== character) return false
    this.#position += 1
    return true
  }

  /** Consumes a name and the blanks around it. */
  takeName(bare: RegExp): string {
    this.take(patterns.space)
    const quoted = this.#match(patterns.quoted)?.[1]
    const name = quoted?.replaceAll('""', '"') ?? this.take(bare).trim()
    this.take(patterns.space)
    if (name === '') throw this.fault()
    return name
  }

  /** Consumes names that are joined by dots. */
  takePath(): string[] {
    const path = [this.takeName(patterns.segment)]
    while (this.takeIf('.')) path.push(this.takeName(patterns.segment))
    return path
  }

  /** Consumes an item without quotes; undefined for another one. */
  takeBareItem(): string | undefined {
    const start = this.#position
    const item = this.take(patterns.bare)
    if (item.trim() !== '' && this.#text[this.#position] !== '"') return item.trim()
    this.#position = start
    return undefined
  }

  fault(): Error {
    return collectionErrors.invalidParameter(
      `${this.#parameter}: expected comma-separated names, at position ${this.#itemStart}`,
    )
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#position
    const match = pattern.exec(this.#text)
    if (match !== null) this.#position = pattern.lastIndex
    return match
  }
}
