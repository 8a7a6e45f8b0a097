import { useEffect, useState } from 'react'
import { Code } from '../../ui/code.tsx'
import { formatBytes } from '../../ui/format.ts'
import { HtmlPreview } from '../../ui/html-preview.tsx'
import { decodeText, isMarkup, parseHex, sniffPicture } from './bytes.ts'
import styles from './tables.module.css'

/** Maximum number of characters to show. */
const shownCharacters = 20_000

/** Shows bytes by their content: as an image, a text, or hexadecimal digits. */
export function BytesPreview({ hex }: { readonly hex: string }) {
  const bytes = parseHex(hex)
  const type = sniffPicture(bytes)
  const text = type === undefined ? decodeText(bytes) : undefined
  return (
    <>
      <p>
        {formatBytes(bytes.length)}
        {type === undefined ? '' : `, ${type}`}
      </p>
      {type !== undefined && <Picture bytes={bytes} type={type} />}
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

function Picture({ bytes, type }: { readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string }) {
  const [address, setAddress] = useState<string>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: bytes is a new array in each render, and its length identifies it.
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }))
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [bytes.length, type])
  return address === undefined ? null : <img className={styles.preview} src={address} alt="The value" />
}
