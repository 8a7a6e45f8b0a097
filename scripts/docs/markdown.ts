import { createAnchors } from '../../packages/server/src/lib/heading-anchors.ts'

/** Fenced blocks, comments and inline code. Nothing in them is a link or a heading. */
const codePattern =
  /^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2[ \t]*$|<!--[\s\S]*?-->|(`+)(?!`)[^\n]*?(?:\n[^\n]+?)?(?<!`)\3(?!`)/gm

/** Replaces the targets of links and pictures in Markdown, outside code. */
export function replaceLinks(markdown: string, replace: (target: string) => string): string {
  return mapProse(markdown, (prose) =>
    prose.replaceAll(/(\]\()([^()\s]+)(\))/g, (_, before, target, after) => before + replace(target) + after),
  )
}

/** Returns the targets of links and pictures in Markdown, outside code. */
export function listLinks(markdown: string): string[] {
  const links: string[] = []
  replaceLinks(markdown, (target) => {
    links.push(target)
    return target
  })
  return links
}

/** Returns the anchors of the headings. */
export function listAnchors(markdown: string): ReadonlySet<string> {
  const anchorOf = createAnchors()
  const prose = markdown.replaceAll(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2[ \t]*$|<!--[\s\S]*?-->/gm, '')
  return new Set([...prose.matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, text = '']) => anchorOf(text)))
}

/** Splits Markdown into its title, which is the first heading, and the rest. */
export function splitTitle(markdown: string): { readonly title: string; readonly body: string } {
  const heading = /^# (.+)$/m.exec(markdown)
  if (heading === null) throw new Error(`no title: ${markdown.slice(0, 80)}`)
  return {
    title: (heading[1] ?? '').replaceAll('`', ''),
    body: markdown.slice(heading.index + heading[0].length).trim(),
  }
}

/** Returns the first sentences of a page as plain text, for its description. */
export function summarize(body: string): string {
  const [first = ''] = body.split(/\n\s*\n/).filter((part) => /^[A-Z`[]/.test(part.trim()))
  return first
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*_]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, 200)
}

function mapProse(markdown: string, change: (prose: string) => string): string {
  let end = 0
  let changed = ''
  for (const match of markdown.matchAll(codePattern)) {
    changed += change(markdown.slice(end, match.index)) + match[0]
    end = match.index + match[0].length
  }
  return changed + change(markdown.slice(end))
}
