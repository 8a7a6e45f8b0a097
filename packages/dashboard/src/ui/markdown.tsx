import type { ReactNode } from 'react'
import { SafeLink } from './safe-link.tsx'
import { visibleText } from './visible-text.ts'

/** Shows the common parts of Markdown as elements. HTML in the text stays text, and images stay links. */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <section aria-label="Preview">
      {text
        .slice(0, mostCharacters)
        .split(/(```.*?(?:```|$))|\n\s*\n/s)
        .map((block = '', index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks hold no state.
          <Block key={index} text={block} />
        ))}
    </section>
  )
}

const mostCharacters = 50_000

function Block({ text }: { readonly text: string }) {
  const lines = text.trim().split('\n')
  const [first = ''] = lines
  if (first === '') return null
  if (first.startsWith('```')) {
    return <pre>{visibleText(lines.slice(1).join('\n').replace(/```$/, ''))}</pre>
  }
  const [heading, marks = ''] = /^(#{1,6})\s+/.exec(first) ?? []
  if (heading !== undefined) {
    const Heading = marks.length === 1 ? 'h3' : 'h4'
    return (
      <>
        <Heading>{inline(first.slice(heading.length))}</Heading>
        <Block text={lines.slice(1).join('\n')} />
      </>
    )
  }
  if (first.startsWith('>')) {
    return <blockquote>{inline(lines.map((line) => line.replace(/^>\s?/, '')).join('\n'))}</blockquote>
  }
  if (!item.test(first)) return <p>{inline(lines.join('\n'))}</p>
  const List = /^\d/.test(first) ? 'ol' : 'ul'
  return (
    <List data-marks>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above.
        <li key={index}>{inline(line.trim().replace(item, ''))}</li>
      ))}
    </List>
  )
}

const item = /^([-*+]|\d+[.)])\s+/
const marks = /`([^`]+)`|\*\*([^*]+)\*\*|[*_]([^*_]+)[*_]|!?\[([^\]]*)\]\(([^\s)]+)\)/g

function inline(text: string): ReactNode[] {
  const parts: ReactNode[] = []
  let end = 0
  for (const { 0: whole, 1: code, 2: strong, 3: emphasis, 4: label = '', 5: href, index } of text.matchAll(
    marks,
  )) {
    parts.push(visibleText(text.slice(end, index)))
    end = index + whole.length
    if (code !== undefined) parts.push(<code key={index}>{visibleText(code)}</code>)
    else if (strong !== undefined) parts.push(<strong key={index}>{visibleText(strong)}</strong>)
    else if (emphasis !== undefined) parts.push(<em key={index}>{visibleText(emphasis)}</em>)
    else
      parts.push(
        <SafeLink key={index} href={href ?? ''}>
          {visibleText(label)}
        </SafeLink>,
      )
  }
  return [...parts, visibleText(text.slice(end))]
}
