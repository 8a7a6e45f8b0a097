import { useApi } from '../../api/queries.ts'
import { HtmlPreview } from '../../ui/html-preview.tsx'
import { KeyValue, Section } from '../../ui/layout.tsx'
import { nonce } from '../../ui/nonce.ts'
import { Failure, Loaded } from '../../ui/states.tsx'
import { previewTemplate, type TemplateSource, type Variables } from './api.ts'
import styles from './mail.module.css'
import { showable } from './showable.ts'

interface MailPreviewProps {
  readonly templateKey: string
  readonly source: TemplateSource
  readonly variables: Variables
}

/** The mail as its reader sees it, in a frame where nothing runs and nothing is loaded. */
export function MailPreview({ templateKey, source, variables }: MailPreviewProps) {
  const preview = useApi(['mail', 'preview', templateKey, source, variables], (signal) =>
    previewTemplate(templateKey, source, variables, signal),
  )
  return (
    <Section title="Preview">
      {preview.error !== null && preview.data !== undefined && <Failure error={preview.error} />}
      <Loaded query={preview}>
        {({ subject, html, text }) => (
          <>
            <KeyValue items={[['Subject', subject]]} />
            <HtmlPreview
              className={styles.preview}
              title="Preview of the mail"
              html={showable(html, nonce)}
            />
            <details>
              <summary>As plain text</summary>
              <pre>{text}</pre>
            </details>
          </>
        )}
      </Loaded>
    </Section>
  )
}
