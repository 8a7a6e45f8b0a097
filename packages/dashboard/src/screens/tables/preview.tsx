import { useMemo } from 'react'
import { Code } from '../../ui/code.tsx'
import { formatBytes } from '../../ui/format.ts'
import { HtmlPreview } from '../../ui/html-preview.tsx'
import { BlobImage } from '../storage/preview.tsx'
import { decodeText, isMarkup, parseHex, sniffPicture } from './bytes.ts'
import styles from './tables.module.css'

/** Maximum number of characters to show. */
const shownCharacters = 20_000

/** Shows bytes by their content: as an image, a text, or hexadecimal digits. */
export function BytesPreview({ hex }: { readonly hex: string }) {
  const bytes = useMemo(() => parseHex(hex), [hex])
  const type = sniffPicture(bytes)
  const picture = useMemo(() => (type === undefined ? undefined : new Blob([bytes], { type })), [bytes, type])
  const text = type === undefined ? decodeText(bytes) : undefined
  return (
    <>
      <p>
        {formatBytes(bytes.length)}
        {type === undefined ? '' : `, ${type}`}
      </p>
      {picture !== undefined && <BlobImage className={styles.preview} blob={picture} name="The value" />}
      {text !== undefined && text !== '' && (
        <>
          {isMarkup(text) && <HtmlPreview className={styles.preview} title="Preview" html={text} />}
          <Code label="Text">{text.slice(0, shownCharacters)}</Code>
        </>
      )}
      {type === undefined && text === undefined && bytes.length > 0 && (
        <Code label="Bytes">{hex.slice(0, 4000)}</Code>
      )}
    </>
  )
}
