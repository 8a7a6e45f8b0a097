/** Script that shows and fills in the forms for passkeys if the browser supports them. */
export const passkeyScript = `
for (const form of document.querySelectorAll('form[data-passkey]')) {
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) continue
  form.hidden = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    try {
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(form.dataset.passkey))
      const credential = await navigator.credentials.get({ publicKey })
      form.elements.assertion.value = JSON.stringify(credential.toJSON())
      form.submit()
    } catch (error) {
      document.getElementById('passkey-problem').textContent = 'The passkey was not used: ' + error.message
    }
  })
}`
