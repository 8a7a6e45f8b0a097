import type { TemplateSource } from './parse-template.ts'

/** Built-in template. A custom one of the same key replaces it. */
export interface BuiltInTemplate extends TemplateSource {
  readonly variables: readonly string[]
}

interface Wording {
  readonly subject: string
  readonly title: string
  readonly lead: string
  /** Label of the button, or a code. */
  readonly action: { readonly button: string } | 'code'
  readonly note: string
}

const sans = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

const lapse = 'If you did not ask for this, you need not do anything.'

const wordings: Readonly<Record<string, Wording>> = {
  'auth.password_reset': {
    subject: 'Reset your {{.AppName}} password',
    title: 'Reset your password',
    lead: 'Someone asked to reset the password of your {{.AppName}} account. Choose a new one here:',
    action: { button: 'Choose a new password' },
    note: `The link works once and for one hour. ${lapse} Your password stays as it is.`,
  },
  'auth.email_verification': {
    subject: 'Confirm your email address for {{.AppName}}',
    title: 'Confirm your email address',
    lead: 'This address was given for an account at {{.AppName}}. Confirm that it is yours:',
    action: { button: 'Confirm email address' },
    note: `The link works once and for one day. ${lapse}`,
  },
  'auth.magic_link': {
    subject: 'Sign in to {{.AppName}}',
    title: 'Sign in',
    lead: 'Use this link to sign in to {{.AppName}}:',
    action: { button: 'Sign in' },
    note: `The link works once and only for a short time; do not pass it on. ${lapse}`,
  },
  'auth.invitation': {
    subject: 'You are invited to {{.AppName}}',
    title: 'You are invited',
    lead: 'An account at {{.AppName}} was made for this address. Choose a password to use it:',
    action: { button: 'Choose a password' },
    note: 'The link works once and for seven days. If you did not expect this, you need not do anything.',
  },
  'auth.mfa_email_enroll': {
    subject: 'Your {{.AppName}} code to turn on email codes',
    title: 'Turn on email codes',
    lead: 'Enter this code at {{.AppName}} to receive sign-in codes by email from now on:',
    action: 'code',
    note: `The code is valid for ten minutes. Never tell it to anyone. ${lapse}`,
  },
  'auth.mfa_email_challenge': {
    subject: 'Your {{.AppName}} sign-in code',
    title: 'Your sign-in code',
    lead: 'Enter this code to finish signing in to {{.AppName}}:',
    action: 'code',
    note: 'The code is valid for ten minutes. Never tell it to anyone. If you are not signing in, change your password: someone knows it.',
  },
}

/** Built-in templates by key. */
export const builtInTemplates: ReadonlyMap<string, BuiltInTemplate> = new Map(
  Object.entries(wordings).map(([key, wording]) => [key, compose(wording)]),
)

function compose({ subject, title, lead, action, note }: Wording): BuiltInTemplate {
  const isCode = action === 'code'
  const step = isCode
    ? `<p style="margin:24px 0;font:700 32px/1.2 ui-monospace,Menlo,Consolas,monospace;letter-spacing:4px">{{.Code}}</p>`
    : `<p style="margin:24px 0"><a href="{{.ActionURL}}" style="display:inline-block;padding:12px 24px;border-radius:6px;background:#1f5a78;color:#ffffff;font-weight:600;text-decoration:none">${action.button}</a></p>`
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
</head>
<body style="margin:0;padding:24px;font-size:16px;line-height:1.5;${sans}">
<div role="article" lang="en" style="max-width:560px;margin:0 auto">
<h1 style="margin:0 0 16px;font-size:24px;line-height:1.25">${title}</h1>
<p style="margin:0">${lead}</p>
${step}
<p style="margin:0;font-size:14px">${note}</p>
<hr style="margin:24px 0;border:0;border-top:1px solid #888888">
<p style="margin:0;font-size:14px">{{.AppName}}</p>
</div>
</body>
</html>
`
  return {
    subjectTemplate: subject,
    htmlTemplate: html,
    variables: ['AppName', isCode ? 'Code' : 'ActionURL'],
  }
}
