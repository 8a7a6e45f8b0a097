import { isBasaltError } from '@basaltdb/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { Button } from '../../ui/button.tsx'
import { CodeEditor } from '../../ui/code-editor.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Notice, PageHeader, Section } from '../../ui/layout.tsx'
import { Failure, Loaded } from '../../ui/states.tsx'
import {
  deleteTemplate,
  readTemplate,
  saveTemplate,
  setEnabled,
  type Template,
  type TemplateSource,
} from './api.ts'
import styles from './mail.module.css'
import { MailPreview } from './mail-preview.tsx'
import { SendTest } from './send-test.tsx'

/** Creates the initial state for a key without a template. */
const blankTemplate = (templateKey: string): Template => ({
  templateKey,
  source: 'custom',
  subjectTemplate: '',
  htmlTemplate: '<p>Hello {{.Name}}</p>\n',
  enabled: true,
  variables: [],
})

export function TemplateEditor({ templateKey }: { readonly templateKey: string }) {
  const template = useApi(['mail', 'template', templateKey], (signal) =>
    readTemplate(templateKey, signal).catch((error) => {
      if (isBasaltError(error, 'template_not_found')) return blankTemplate(templateKey)
      throw error
    }),
  )
  // The input stays unchanged when the stored template changes, except after a reset.
  const [resets, setResets] = useState(0)
  const showStored = async () => {
    await template.refetch()
    setResets((count) => count + 1)
  }
  return (
    <Loaded query={template}>
      {(found) => <Editor key={resets} template={found} onReset={() => void showStored()} />}
    </Loaded>
  )
}

const placeholder = /\{\{\s*\.([A-Za-z_]\w*)\s*\}\}/g

interface EditorProps {
  readonly template: Template
  readonly onReset: () => void
}

function Editor({ template, onReset }: EditorProps) {
  const { templateKey: key, source, enabled } = template
  const [subjectTemplate, setSubject] = useState(template.subjectTemplate)
  const [htmlTemplate, setHtml] = useState(template.htmlTemplate)
  const [variables, setVariables] = useState<Readonly<Record<string, string>>>({})
  // A refetch may return the template of another administrator. It leaves the input unchanged.
  const [replaces, setReplaces] = useState(sourceOf(template))
  const [isResetting, setResetting] = useState(false)
  usePageTitle(key)
  const invalidates = [['mail']]
  const save = useAction(
    (isForced: boolean) =>
      saveTemplate(key, { subjectTemplate, htmlTemplate }, isForced ? undefined : replaces),
    {
      invalidates,
      done: 'Template saved.',
      onDone: (saved) =>
        setReplaces({ subjectTemplate: saved.subjectTemplate, htmlTemplate: saved.htmlTemplate }),
      failure: 'view',
    },
  )
  const toggle = useAction(() => setEnabled(key, !enabled), { invalidates, done: 'Saved.' })

  const used = [...`${subjectTemplate} ${htmlTemplate}`.matchAll(placeholder)].map(([, name]) => name ?? '')
  const names = [...new Set([...template.variables, ...used])]
  const values = Object.fromEntries(names.map((name) => [name, variables[name] ?? sampleOf(name)]))
  const isStored = template.updatedAt !== undefined
  return (
    <>
      <PageHeader
        title={key}
        asCode={{
          request: {
            method: 'PUT',
            path: `/api/admin/email/templates/${key}`,
            body: { subjectTemplate, htmlTemplate },
          },
        }}
        actions={
          <>
            {source === 'custom' && isStored && (
              <>
                <Button needs="change" isPending={toggle.isPending} onClick={() => toggle.run()}>
                  {enabled ? 'Disable' : 'Enable'}
                </Button>
                <Button needs="change" onClick={() => setResetting(true)}>
                  Reset
                </Button>
              </>
            )}
            <Button
              variant="primary"
              needs="change"
              isPending={save.isPending}
              onClick={() => save.run(false)}
            >
              Save
            </Button>
          </>
        }
      >
        <Link href="/mail">All templates</Link> ·{' '}
        {source === 'builtin' ? 'Built-in template' : 'Custom template'}
      </PageHeader>
      {save.error !== null && <Failure error={save.error} />}
      {isBasaltError(save.error, 'template_changed') && (
        <p>
          <Button size="small" onClick={onReset}>
            Discard my changes
          </Button>{' '}
          <Button size="small" onClick={() => save.run(true)}>
            Overwrite with my changes
          </Button>
        </p>
      )}
      {save.result?.warnings?.map((warning) => (
        <Notice key={warning} tone="warning">
          {warning}
        </Notice>
      ))}
      <div className={styles.fields}>
        <TextField label="Subject" value={subjectTemplate} maxLength={1000} onChange={setSubject} />
      </div>
      <Section title="HTML">
        <CodeEditor label="HTML of the mail" value={htmlTemplate} onChange={setHtml} language="text" />
      </Section>
      <Section title="Values for preview and test">
        {names.length === 0 && <p>The template has no placeholders. Write a placeholder as {'{{.Name}}'}.</p>}
        <div className={styles.fields}>
          {names.map((name) => (
            <TextField
              key={name}
              label={name}
              value={values[name] ?? ''}
              onChange={(text) => setVariables({ ...variables, [name]: text })}
            />
          ))}
        </div>
      </Section>
      <MailPreview templateKey={key} source={{ subjectTemplate, htmlTemplate }} variables={values} />
      {(isStored || source === 'builtin') && <SendTest templateKey={key} variables={values} />}
      {isResetting && (
        <ConfirmAction
          title="Reset the template?"
          action="Delete custom template"
          send={() => deleteTemplate(key)}
          invalidates={invalidates}
          done="Template deleted."
          onDone={() => {
            setResetting(false)
            onReset()
          }}
          onClose={() => setResetting(false)}
        >
          Your changes are deleted. If there is a built-in template, it is used again.
        </ConfirmAction>
      )}
    </>
  )
}

/** Returns the template that a save replaces; null if none was stored. */
function sourceOf({ source, updatedAt, subjectTemplate, htmlTemplate }: Template): TemplateSource | null {
  return source === 'custom' && updatedAt !== undefined ? { subjectTemplate, htmlTemplate } : null
}

function sampleOf(name: string): string {
  return name === 'ActionURL' ? `${location.origin}/example` : name === 'Code' ? '123456' : name
}
