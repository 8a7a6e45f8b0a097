import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, Section } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import { sendTemplate, type Variables } from './api.ts'

interface SendTestProps {
  readonly templateKey: string
  readonly variables: Variables
}

/** Sends the stored template, with the values of the preview. */
export function SendTest({ templateKey, variables }: SendTestProps) {
  const [to, setTo] = useState('')
  const send = useAction(() => sendTemplate(templateKey, to, variables), {
    done: `Sent to ${to}.`,
    failure: 'view',
  })
  return (
    <Section title="Send a test">
      <Form onSubmit={() => send.run()}>
        <TextField
          label="To"
          hint="Sends the saved template. Save your changes first."
          type="email"
          value={to}
          onChange={setTo}
        />
        {send.error !== null && <Failure error={send.error} />}
        <div>
          <Button type="submit" disabled={to === ''} isPending={send.isPending}>
            Send
          </Button>
        </div>
      </Form>
    </Section>
  )
}
