/** Position of a placeholder in HTML, which decides how its value is escaped. */
export interface HtmlPosition {
  /**
   * Kind of position. `markup` is inside a tag but not in a value, or in a script or style sheet, where no
   * escaping makes a value safe.
   */
  readonly kind: 'text' | 'quoted' | 'unquoted' | 'markup'
  /** Name of the attribute in lower case. Empty outside a value. */
  readonly attribute: string
  /** True if only blanks and other placeholders precede it in the value. */
  readonly isStart: boolean
}

/** Scanner of HTML in pieces of text with placeholders between them. */
export interface HtmlScanner {
  read(text: string): void
  /** Returns the position of a placeholder that follows the text read so far. Reading continues after it. */
  position(): HtmlPosition
  /** Number of start and end tags so far. */
  readonly tags: number
}

type State =
  | 'text'
  | 'open'
  | 'end-open'
  | 'declaration'
  | 'comment'
  | 'tag-name'
  | 'between'
  | 'attribute-name'
  | 'after-name'
  | 'before-value'
  | 'double-quoted'
  | 'single-quoted'
  | 'unquoted'
  | 'raw'

const blank = /[\t\n\f\r ]/
const letter = /[a-zA-Z]/

/**
 * Creates a scanner with the states of the tokenizer of HTML §13.2.5 that decide where a value may occur. It
 * makes one step per character.
 */
export function createHtmlScanner(): HtmlScanner {
  let state: State = 'text'
  let tags = 0
  /** Name of the last start tag, whose content may be raw. */
  let tag = ''
  let attribute = ''
  /** Last characters of a comment or of raw text, which are compared with its end. */
  let tail = ''

  function openTag(name: string): State {
    tags += 1
    tag = name
    return 'tag-name'
  }

  function closeTag(): State {
    tail = ''
    return tag === 'script' || tag === 'style' ? 'raw' : 'text'
  }

  const steps: Record<State, (character: string) => State> = {
    text: (c) => (c === '<' ? 'open' : 'text'),
    open(c) {
      if (c === '/') return 'end-open'
      if (letter.test(c)) return openTag(c.toLowerCase())
      tail = c === '!' ? '' : c
      if (c === '!' || c === '?') return 'declaration'
      return c === '<' ? 'open' : 'text'
    },
    'end-open'(c) {
      if (letter.test(c)) return openTag('/')
      tail = '/'
      return c === '>' ? 'text' : 'declaration'
    },
    // Only the characters right after `<!` can start a comment. The tail holds the first two.
    declaration(c) {
      tail = (tail + c).slice(0, 2)
      if (tail === '--') return 'comment'
      return c === '>' ? 'text' : 'declaration'
    },
    // `<!-->` and `<!--->` are whole comments, because two dashes stay in the tail.
    comment(c) {
      tail = (tail + c).slice(-4)
      return tail.endsWith('-->') || tail.endsWith('--!>') ? 'text' : 'comment'
    },
    'tag-name'(c) {
      if (c === '>') return closeTag()
      if (blank.test(c) || c === '/') return 'between'
      tag += c.toLowerCase()
      return 'tag-name'
    },
    between(c) {
      if (c === '>') return closeTag()
      if (blank.test(c) || c === '/') return 'between'
      attribute = c.toLowerCase()
      return 'attribute-name'
    },
    'attribute-name'(c) {
      if (c === '>') return closeTag()
      if (c === '=') return 'before-value'
      if (c === '/') return 'between'
      if (blank.test(c)) return 'after-name'
      attribute += c.toLowerCase()
      return 'attribute-name'
    },
    'after-name': (c) => (c === '=' ? 'before-value' : blank.test(c) ? 'after-name' : steps.between(c)),
    'before-value'(c) {
      if (blank.test(c)) return 'before-value'
      if (c === '"') return 'double-quoted'
      if (c === "'") return 'single-quoted'
      return c === '>' ? closeTag() : 'unquoted'
    },
    'double-quoted': (c) => (c === '"' ? 'between' : 'double-quoted'),
    'single-quoted': (c) => (c === "'" ? 'between' : 'single-quoted'),
    unquoted: (c) => (c === '>' ? closeTag() : blank.test(c) ? 'between' : 'unquoted'),
    raw(c) {
      tail = (tail + c.toLowerCase()).slice(-(tag.length + 3))
      const isEnd = tail.startsWith(`</${tag}`) && /[\t\n\f\r />]/.test(c)
      if (!isEnd) return 'raw'
      tag = '/'
      tags += 1
      return c === '>' ? 'text' : 'between'
    },
  }

  /** True if only blanks and placeholders of the value have been read. */
  let isStart = false

  return {
    get tags() {
      return tags
    },
    read(text) {
      for (let index = 0; index < text.length; index += 1) {
        const before = state
        const character = text.charAt(index)
        state = steps[state](character)
        const isOpened = state !== before && state.endsWith('-quoted')
        isStart = isOpened || (isStart && state === before && blank.test(character))
      }
    },
    position() {
      if (state === 'before-value') {
        // Characters without quotes after it belong to the same value.
        state = 'unquoted'
        isStart = true
      }
      // A comment is text to some readers, and no escaped value can end it.
      if (state === 'text' || state === 'comment') return { kind: 'text', attribute: '', isStart: false }
      if (state === 'unquoted') return { kind: 'unquoted', attribute, isStart }
      if (state.endsWith('-quoted')) return { kind: 'quoted', attribute, isStart }
      return { kind: 'markup', attribute: '', isStart: false }
    },
  }
}
