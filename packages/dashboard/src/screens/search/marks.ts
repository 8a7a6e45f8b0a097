/** A part of a highlighted text. */
export interface TextPart {
  /** Where it begins in the highlighted text. */
  readonly at: number
  readonly text: string
  readonly isMarked: boolean
}

const signs: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' }

/** The parts of what the API highlights: its `<b>` and `</b>` are the only markup, everything else is escaped. Pure. */
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
