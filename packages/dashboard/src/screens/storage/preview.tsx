import type { StoredObject } from '@basaltdb/client/files'
import { useEffect, useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Code } from '../../ui/code.tsx'
import { HtmlPreview } from '../../ui/html-preview.tsx'
import { Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { bucketOf } from './api.ts'
import styles from './preview.module.css'
import { previewKind } from './preview-kind.ts'

/** Maximum size of an image preview. Larger images can only be downloaded. */
const mostPictureBytes = 20_000_000
const mostTextBytes = 64 * 1024

/** Shows the content of an object without running any of it. */
export function Preview({ object }: { readonly object: StoredObject }) {
  const kind = previewKind(object.contentType)
  if (kind === 'none' || object.size === 0) return null
  if (kind === 'picture')
    return object.size > mostPictureBytes ? null : (
      <Section title="Preview">
        <Picture object={object} />
      </Section>
    )
  return (
    <Section title={object.size > mostTextBytes ? 'The first 64 kB' : 'Preview'}>
      <TextPreview object={object} isPage={kind === 'page'} />
    </Section>
  )
}

/** Shows an image. Images run no scripts, and neither does an SVG as the source of an image element. */
function Picture({ object }: { readonly object: StoredObject }) {
  const content = useApi(['storage', 'content', object.id, object.updatedAt], async (signal) =>
    (await bucketOf(object.bucket).download(object.name, { signal })).blob(),
  )
  return (
    <Loaded query={content}>
      {(blob) => <BlobImage className={styles.picture} blob={blob} name={object.name} />}
    </Loaded>
  )
}

interface BlobImageProps {
  readonly blob: Blob
  /** Text alternative. */
  readonly name: string
  readonly className: string | undefined
}

/** Shows an image by a blob URL, from which nothing runs. */
export function BlobImage({ blob, name, className }: BlobImageProps) {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return address === undefined ? null : <img className={className} src={address} alt={name} />
}

function TextPreview({ object, isPage }: { readonly object: StoredObject; readonly isPage: boolean }) {
  const text = useApi(['storage', 'text', object.id, object.updatedAt], async (signal) =>
    (await bucketOf(object.bucket).download(object.name, { range: [0, mostTextBytes - 1], signal })).text(),
  )
  return (
    <Loaded query={text}>
      {(content) => (
        <>
          {isPage && (
            <HtmlPreview className={styles.page} html={content} title={`Preview of ${object.name}`} />
          )}
          <Code label={`Content of ${object.name}`}>{content}</Code>
        </>
      )}
    </Loaded>
  )
}
