import { Route, Switch, useSearchParams } from 'wouter'
import { decodeSegment } from '../../path-segment.ts'
import { PageHeader } from '../../ui/layout.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { SentMail } from './sent-mail.tsx'
import { TemplateEditor } from './template-editor.tsx'
import { TemplateList } from './template-list.tsx'

export function MailScreen() {
  return (
    <Switch>
      <Route path="/mail">
        <Overview />
      </Route>
      <Route path="/mail/:key">
        {({ key }) => <TemplateEditor key={key} templateKey={decodeSegment(key)} />}
      </Route>
    </Switch>
  )
}

function Overview() {
  const [parameters, setParameters] = useSearchParams()
  return (
    <>
      <PageHeader title="Mail" asCode={{ request: { method: 'GET', path: '/api/admin/email/templates' } }} />
      <Tabs
        label="Mail"
        value={parameters.get('tab') ?? 'templates'}
        onChange={(tab) => setParameters({ tab }, { replace: true })}
        tabs={[
          { value: 'templates', label: 'Templates', content: <TemplateList /> },
          { value: 'sent', label: 'Sent by users', content: <SentMail />, needs: 'bodies.read' },
        ]}
      />
    </>
  )
}
