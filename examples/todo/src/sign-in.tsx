import { useAuth } from '@basaltdb/react'
import { type FormEvent, useState } from 'react'

export function SignIn() {
  const auth = useAuth()
  const [message, setMessage] = useState('')

  async function enter(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const { submitter } = event.nativeEvent as SubmitEvent
    const form = new FormData(event.currentTarget, submitter)
    const credentials = { email: String(form.get('email')), password: String(form.get('password')) }
    try {
      await (form.get('way') === 'up' ? auth.signUp(credentials) : auth.signIn(credentials))
    } catch (error) {
      setMessage((error as Error).message)
    }
  }

  return (
    <main>
      <h1>To do</h1>
      <form onSubmit={enter}>
        <input name="email" type="email" placeholder="email" aria-label="email" required />
        <input name="password" type="password" placeholder="password" aria-label="password" required />
        <button type="submit" name="way" value="in">
          Sign in
        </button>
        <button type="submit" name="way" value="up">
          Sign up
        </button>
      </form>
      <p role="alert">{message}</p>
    </main>
  )
}
