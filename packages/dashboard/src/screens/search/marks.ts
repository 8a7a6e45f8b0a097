/** Part of a highlighted text. */
export interface TextPart {
  /** Start of the part in the highlighted text. */
  readonly at: number
  readonly text: string
  readonly isMarked: boolean
}

const signs: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' }

/**
 * Splits a highlighted text. The `<b>` and `</b>` tags of the API are the only markup, and everything else is escaped. Pure.
 */
export function readMarks(highlighted: string): TextPart[] {
  const parts: TextPart[] = []
  let isMarked = false
  let at = 0
  for (const piece of highlighted.split(/(<\/?b>)/)) {
    if (piece === '<b>' || piece === '</b>') isMarked = piece === '<b>'
    else if (piece !== '') {
      parts.push({ at, text: piece.replace(/&(?:amp|lt|gt);/g, (sign) => signs[sign] ?? sign), isMarked })
    }
    at += piece.length
  }
  return parts
}
