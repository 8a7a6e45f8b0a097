import { useApi } from '../../api/queries.ts'
import { HtmlPreview } from '../../ui/html-preview.tsx'
import { KeyValue, Section } from '../../ui/layout.tsx'
import { nonce } from '../../ui/nonce.ts'
import { Failure, Loaded } from '../../ui/states.tsx'
import { previewTemplate, type TemplateSource, type Variables } from './api.ts'
import styles from './mail.module.css'
import { sandboxHtml } from './sandbox-html.ts'

interface MailPreviewProps {
  readonly templateKey: string
  readonly source: TemplateSource
  readonly variables: Variables
}

/** Shows the mail in a frame in which nothing runs and nothing is loaded. */
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
            <KeyValue
              items={{
                Subject: subject,
              }}
            />
            <HtmlPreview className={styles.preview} title="Mail preview" html={sandboxHtml(html, nonce)} />
            <details>
              <summary>Plain text</summary>
              <pre>{text}</pre>
            </details>
          </>
        )}
      </Loaded>
    </Section>
  )
}
