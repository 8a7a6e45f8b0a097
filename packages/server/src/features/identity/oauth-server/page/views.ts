import type { Action, actions } from '../../../../http/access/actions.ts'
import { escapeHtml } from '../../../../lib/page.ts'
import type { AuthorizationRequest } from '../authorize/request.ts'

/** Authorization request that a form of the page belongs to. */
export interface PageRequest {
  readonly request: AuthorizationRequest
  /** Raw query of the address, which every form passes on. */
  readonly query: string
  readonly appName: string
}

/** Request for a passkey, with the step that handles its response. */
export interface PasskeyPrompt {
  readonly step: string
  readonly challenge_id: string
  readonly options: object
}

interface FormParts {
  readonly step: string
  readonly fields?: string
  readonly button: string
  readonly isPlain?: boolean
  /** Captcha that the step requires. */
  readonly captcha?: FormCaptcha | undefined
}

/** Captcha of a form. */
export interface FormCaptcha {
  readonly route: string
  /** Widget of a provider; undefined for a proof of work. */
  readonly widget?: { readonly className: string; readonly siteKey: string } | undefined
}

function form(
  { query }: PageRequest,
  { step, fields = '', button, isPlain = false, captcha }: FormParts,
): string {
  const solved =
    captcha !== undefined && captcha.widget === undefined ? ` data-captcha="${captcha.route}"` : ''
  return `<form id="${step}"${solved} method="post" action="/oauth/authorize">
${hidden('request', query)}${hidden('step', step)}${fields}${captcha === undefined ? '' : captchaFields(captcha)}<p><button${isPlain ? ' class="plain"' : ''}>${button}</button></p>
</form>`
}

function captchaFields({ route, widget }: FormCaptcha): string {
  if (widget === undefined) return `${hidden('captcha', '')}<p class="bad" role="alert"></p>\n`
  return `<div class="${widget.className}" data-sitekey="${escapeHtml(widget.siteKey)}" data-action="${route}"></div>\n`
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escapeHtml(value)}">\n`
}

function field(id: string, label: string, attributes: string): string {
  return `<p><label for="${id}">${label}</label><input id="${id}" required maxlength="4096" ${attributes}></p>\n`
}

const codeField = (id: string, label: string) =>
  field(id, label, 'name="code" autocomplete="one-time-code" inputmode="text"')

function problemLine(problem: string | undefined): string {
  return problem === undefined ? '' : `<p id="problem" class="bad" role="alert">${escapeHtml(problem)}</p>\n`
}

function passkeyForm(page: PageRequest, passkey: PasskeyPrompt | undefined): string {
  if (passkey === undefined) return ''
  const { step, challenge_id, options } = passkey
  const markup = form(page, {
    step,
    fields: hidden('challenge_id', challenge_id) + hidden('assertion', ''),
    button: 'Use a passkey',
    isPlain: true,
  })
  const attributes = `<form hidden data-passkey="${escapeHtml(JSON.stringify(options))}"`
  return `${markup.replace('<form', attributes)}\n<p id="passkey-problem" class="bad" role="alert"></p>`
}

function clientName({ request }: PageRequest): string {
  return `<b>${escapeHtml(request.client.name)}</b>`
}

export interface SignInView {
  readonly page: PageRequest
  readonly problem?: string | undefined
  readonly hasMail: boolean
  readonly hasSms: boolean
  /** Captchas of the forms for a mailed link and a text message. */
  readonly captchas: { readonly mail: FormCaptcha | undefined; readonly phone: FormCaptcha | undefined }
  readonly passkey: PasskeyPrompt | undefined
  readonly providers: readonly { readonly name: string; readonly title: string }[]
}

/**
 * Renders links to providers. They are no forms, because the page's policy names the targets of forms, and
 * the origins of providers are unknown.
 */
function providerLinks({ query }: PageRequest, providers: SignInView['providers']): string {
  return providers
    .map(({ name, title }) => {
      const address = escapeHtml(`/oauth/authorize/${encodeURIComponent(name)}?${query}`)
      return `<p><a class="button plain" id="with-${escapeHtml(name)}" href="${address}">Continue with ${escapeHtml(title)}</a></p>`
    })
    .join('\n')
}

export function signInView({
  page,
  problem,
  hasMail,
  hasSms,
  captchas,
  passkey,
  providers,
}: SignInView): string {
  const email = (id: string) => field(id, 'Email', 'name="email" type="email" autocomplete="username"')
  return `<p>${clientName(page)} asks for access to your account. Sign in to continue.</p>
${problemLine(problem)}${form(page, {
  step: 'password',
  fields:
    email('email') +
    field('password-text', 'Password', 'name="password" type="password" autocomplete="current-password"'),
  button: 'Sign in',
})}
${passkeyForm(page, passkey)}
${providerLinks(page, providers)}
${hasMail ? `<details><summary>Sign in by a mailed link</summary>\n${form(page, { step: 'mail', fields: email('mail-email'), button: 'Send a link', isPlain: true, captcha: captchas.mail })}</details>` : ''}
${hasSms ? `<details><summary>Sign in by text message</summary>\n${form(page, { step: 'phone', fields: field('phone-number', 'Phone', 'name="phone" type="tel" autocomplete="tel"'), button: 'Send a code', isPlain: true, captcha: captchas.phone })}</details>` : ''}`
}

export function linkView(page: PageRequest, problem?: string): string {
  return `<p role="status">If the address has an account, a link is on its way. Do not open it: copy its address and paste it here.</p>
${problemLine(problem)}${form(page, { step: 'link', fields: field('pasted-link', 'Link from the mail', 'name="link" autocomplete="off"'), button: 'Sign in' })}`
}

export function phoneCodeView(page: PageRequest, phone: string, problem?: string): string {
  return `<p role="status">If the number can sign in, a code is on its way.</p>
${problemLine(problem)}${form(page, { step: 'phone-code', fields: hidden('phone', phone) + codeField('code', 'Code'), button: 'Sign in' })}`
}

export interface SecondFactorView {
  readonly page: PageRequest
  readonly problem?: string | undefined
  readonly factors: readonly { readonly method: string; readonly label: string }[]
  /** Id of the authenticator app's challenge. */
  readonly totpChallengeId: string | undefined
  /** Challenge of a code that was sent. */
  readonly sent?: { readonly method: string; readonly challengeId: string } | undefined
  readonly passkey: PasskeyPrompt | undefined
}

export function secondFactorView(view: SecondFactorView): string {
  const { page, problem, factors, totpChallengeId, sent, passkey } = view
  const forms = factors.map(({ method, label }) => {
    const name = escapeHtml(label)
    if (method === 'totp' && totpChallengeId !== undefined) {
      const fields =
        hidden('challenge_id', totpChallengeId) + codeField('totp-code', `Code of the ${name.toLowerCase()}`)
      return form(page, { step: 'totp', fields, button: 'Verify' })
    }
    if (method !== 'email' && method !== 'sms') return ''
    if (sent?.method !== method) {
      return form(page, { step: `send-${method}`, button: `Send a code: ${name}`, isPlain: true })
    }
    const fields = hidden('challenge_id', sent.challengeId) + codeField(`${method}-code`, `Code: ${name}`)
    return form(page, { step: method, fields, button: 'Verify' })
  })
  return `<p role="status">One more step: verify that it is you.</p>
${problemLine(problem)}${forms.join('\n')}
${passkeyForm(page, passkey)}
<details><summary>Use a backup code</summary>
${form(page, { step: 'backup', fields: codeField('backup-code', 'Backup code'), button: 'Verify', isPlain: true })}</details>`
}

/** Returns the warning about a client that no administrator has registered. */
function unchecked({ request, appName }: PageRequest): string {
  const { client } = request
  if (client.source === 'administrator') return ''
  const origin =
    client.source === 'document'
      ? `It is published at <b>${escapeHtml(new URL(client.client_id).host)}</b>.`
      : 'It has registered itself.'
  return `<p id="unchecked" class="bad">${origin} ${escapeHtml(appName)} has not checked who made it: allow it only if you came from it.</p>\n`
}

/** Descriptions of actions for the consent page. */
const actionWords: Readonly<Record<(typeof actions)[number], string>> = {
  'email:send': 'send mail on your behalf',
  'sms:send': 'send text messages on your behalf',
  'push:send': 'send push notifications to users of the app',
}

/** Describes an action for the consent page. */
function describeAction(action: Action): string {
  if (Object.hasOwn(actionWords, action)) return actionWords[action as keyof typeof actionWords]
  return `use <code>${escapeHtml(action.slice('function:'.length))}</code> as you`
}

/** Joins words as in `a`, `a and b`, `a, b and c`. */
function inWords(words: readonly string[]): string {
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`
}

export function consentView(page: PageRequest, account: string): string {
  const { request, query } = page
  const { scope, actions, allowedTables, redirectUri } = request
  const what = scope === 'readonly' ? 'read' : 'read and change'
  const tables =
    allowedTables.length === 0
      ? 'all your data'
      : `your data in ${allowedTables.map((name) => `<code>${escapeHtml(name)}</code>`).join(', ')}`
  return `<p>${clientName(page)} wants to <b>${what}</b> ${tables}${account === '' ? '' : ` as ${escapeHtml(account)}`}.</p>
${actions.length === 0 ? '' : `<p id="actions">It also wants to <b>${inWords(actions.map(describeAction))}</b>.</p>\n`}${unchecked(page)}<p class="soft">It cannot see your password or change how you sign in. You continue to <b>${escapeHtml(new URL(redirectUri).host)}</b>.</p>
<form id="consent" method="post" action="/oauth/authorize">
${hidden('request', query)}${hidden('step', 'consent')}<p class="row"><button name="decision" value="approve">Allow</button>
<button class="plain" name="decision" value="deny">Deny</button></p>
</form>`
}

export function faultView(description: string): string {
  return `<p role="alert">This link of an application does not work: ${escapeHtml(description)}.</p>
<p class="soft">Nothing was shared. Go back to the application, or tell its makers.</p>`
}
