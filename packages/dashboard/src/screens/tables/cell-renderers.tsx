import type { ReactNode } from 'react'
import { useApi } from '../../api/queries.ts'
import { Badge } from '../../ui/layout.tsx'
import { safeAddress } from '../../ui/safe-address.ts'
import { SafeLink } from '../../ui/safe-link.tsx'
import { visibleText } from '../../ui/visible-text.ts'
import { bucketOf } from '../storage/api.ts'
import { BlobImage } from '../storage/preview.tsx'
import type { ColumnInfo } from './api.ts'
import { type CellKind, kindOf } from './kinds.ts'
import { parseArray } from './literals.ts'
import styles from './tables.module.css'

type Draw = (text: string, column: ColumnInfo) => ReactNode

const renderers: Readonly<Record<Exclude<CellKind, 'text'>, Draw>> = {
  chip: (text) => (
    <Chips>
      <Badge tone={/^t(rue)?$/.test(text) ? 'ok' : 'neutral'}>{booleans[text] ?? visibleText(text)}</Badge>
    </Chips>
  ),
  code: (text) => <code>{visibleText(text)}</code>,
  list(text) {
    const items = parseArray(text)
    if (items === undefined || text === '') return visibleText(text)
    return (
      <Chips>
        {items.slice(0, mostItems).map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: elements may be equal, and hold no state.
          <Badge key={index}>{item === null ? <em>NULL</em> : visibleText(item)}</Badge>
        ))}
        {items.length > mostItems && `+${items.length - mostItems}`}
      </Chips>
    )
  },
  // The grid may have only the start of a long shape.
  shape(text) {
    const [, type] = /"type":\s*"(\w+)"/.exec(text) ?? []
    const [, position = ''] = /"coordinates":\s*\[([-\d.e, ]+)\]/i.exec(text) ?? []
    return type === undefined ? visibleText(text) : `${type} ${position.replaceAll(/\s*,\s*/g, ', ')}`
  },
  // This property loads nothing, whatever the text.
  color: (text) => (
    <>
      <span className={styles.swatch} style={{ backgroundColor: text }} />
      {visibleText(text)}
    </>
  ),
  url: (text) => <Linked text={text} href={text} />,
  email: (text) => <Linked text={text} href={`mailto:${text}`} />,
  file: (text, { bucket = '' }) => (
    <>
      {/\.(jpe?g|png|webp)$/i.test(text) && <Thumbnail bucket={bucket} name={text} />}
      {visibleText(text.slice(text.lastIndexOf('/') + 1))}
    </>
  ),
}

const booleans: Readonly<Record<string, string>> = { t: 'true', f: 'false' }
const mostItems = 20

/** Returns the function that renders the values of a column; undefined for plain texts. */
export function rendererOf(column: ColumnInfo): ((text: string) => ReactNode) | undefined {
  const { cell } = kindOf(column)
  return cell === 'text' ? undefined : (text) => renderers[cell](text, column)
}

function Chips({ children }: { readonly children: ReactNode }) {
  return <span className={styles.chips}>{children}</span>
}

function Linked({ text, href }: { readonly text: string; readonly href: string }) {
  if (safeAddress(href) === undefined) return visibleText(text)
  return (
    <>
      {visibleText(text)}{' '}
      <SafeLink href={href}>
        <span role="img" aria-label="Open">
          ↗
        </span>
      </SafeLink>
    </>
  )
}

/** Shows an image in the size of a cell. The server reduces it. */
function Thumbnail({ bucket, name }: { readonly bucket: string; readonly name: string }) {
  const image = useApi(['storage', 'thumbnail', bucket, name], async (signal) =>
    (await bucketOf(bucket).download(name, { w: 48, h: 48, signal })).blob(),
  )
  return image.data === undefined ? null : (
    <BlobImage className={styles.thumbnail} blob={image.data} name="" />
  )
}
