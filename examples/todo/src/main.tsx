import { BasaltProvider, useUser } from '@basaltdb/react'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { auth, client } from './backend.ts'
import { Lists } from './lists.tsx'
import { SignIn } from './sign-in.tsx'

function App() {
  const { status } = useUser()
  if (status === 'loading') return null
  return status === 'signed_in' ? <Lists /> : <SignIn />
}

createRoot(document.body).render(
  <StrictMode>
    <BasaltProvider client={client} auth={auth}>
      <App />
    </BasaltProvider>
  </StrictMode>,
)
