import { text } from '../../ui/fields.tsx'
import { InlineForm } from '../../ui/form-dialog.tsx'
import { Section } from '../../ui/layout.tsx'
import { sendTemplate, type Variables } from './api.ts'

interface SendTestProps {
  readonly templateKey: string
  readonly variables: Variables
}

/** Sends the stored template, with the values of the preview. */
export function SendTest({ templateKey, variables }: SendTestProps) {
  return (
    <Section title="Send a test">
      <InlineForm
        action="Send"
        isPrimary={false}
        start={{ to: '' }}
        fields={() => ({
          to: text('To', {
            hint: 'Sends the saved template. Save your changes first.',
            type: 'email',
            required: true,
          }),
        })}
        send={({ to }) => sendTemplate(templateKey, to, variables)}
        done={(_, { to }) => `Sent to ${to}.`}
      />
    </Section>
  )
}
