import { useState } from 'react'
import { useAction } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/layout.tsx'
import { signIn } from './session.ts'
import styles from './sign-in.module.css'

export function SignInPage() {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  const [usesCode, setUsesCode] = useState(code !== null)
  return (
    <main className={styles.page}>
      <h1>Basalt</h1>
      {code !== null && usesCode ? (
        <CodeForm code={code} onDismiss={() => setUsesCode(false)} />
      ) : (
        <PasswordForm />
      )}
    </main>
  )
}

/** A link is good for one sign-in: programs that open links of messages must not use it up, so that a person presses. */
function CodeForm({ code, onDismiss }: { readonly code: string; readonly onDismiss: () => void }) {
  const action = useAction(() => signIn({ code }), { failure: 'view', onDone: forgetCode })
  return (
    <Form onSubmit={() => action.run()}>
      <p>This link signs you in once.</p>
      {action.error !== null && <p role="alert">{action.error.message}</p>}
      <Button type="submit" look="primary" isPending={action.isPending}>
        Sign in with this link
      </Button>
      <Button
        look="plain"
        onClick={() => {
          forgetCode()
          onDismiss()
        }}
      >
        Use the password instead
      </Button>
    </Form>
  )
}

function forgetCode(): void {
  history.replaceState(null, '', location.pathname + location.search)
}

export function PasswordForm() {
  const [password, setPassword] = useState('')
  const action = useAction(() => signIn({ password }), { failure: 'view' })
  return (
    <Form onSubmit={() => action.run()}>
      {/* Password managers file the password under a name. */}
      <input type="text" autoComplete="username" value="admin" readOnly hidden />
      <TextField
        label="Administrator password"
        type="password"
        autoComplete="current-password"
        autoFocus
        required
        value={password}
        onChange={setPassword}
        error={action.error?.message}
      />
      <Button type="submit" look="primary" isPending={action.isPending} disabled={password === ''}>
        Sign in
      </Button>
    </Form>
  )
}
