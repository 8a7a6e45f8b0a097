import { parseInert } from '../../ui/inert-html.ts'

/**
 * HTML of a mail for a frame without scripts. The frame has the policy of the page: styles need its nonce, and attributes
 * with styles are refused, so that they become rules. Pictures of other places are replaced by what they stand for. What
 * this misreads is not shown as meant; it cannot run, because the frame is sandboxed.
 */
export function showable(html: string, nonce: string): string {
  // Before it is parsed: the policy refuses these in documents that are not shown, too.
  const inert = html.replace(/<[^>]*>/g, (tag) =>
    tag
      .replace(/\sstyle\s*=\s*("[^"]*"|'[^']*')/gi, ' data-mail-style=$1')
      .replace(/[\s/]on(?=[a-z]+\s*=)/gi, ' data-mail-on')
      .replace(/^<style\b/i, '<template data-mail')
      .replace(/^<\/style\b/i, '</template'),
  )
  const page = parseInert(inert)
  for (const element of page.querySelectorAll(
    'script, meta[http-equiv], link, base, iframe, object, embed',
  )) {
    element.remove()
  }
  for (const element of page.querySelectorAll('*')) {
    for (const { name, value } of [...element.attributes]) {
      if (isRefused(name, value)) element.removeAttribute(name)
    }
  }
  for (const picture of page.querySelectorAll('img:not([src])')) {
    picture.replaceWith(picture.getAttribute('alt') || '[picture]')
  }
  const rules: string[] = [...page.querySelectorAll<HTMLTemplateElement>('template[data-mail]')].map(
    (template) => template.content.textContent ?? '',
  )
  for (const [index, element] of [...page.querySelectorAll('[data-mail-style]')].entries()) {
    element.classList.add(`mail-${index}`)
    rules.push(`.mail-${index}{${element.getAttribute('data-mail-style')}}`)
    element.removeAttribute('data-mail-style')
  }
  // Rules cannot end their element.
  const sheet = rules.join('\n').replaceAll('<', '\\3c ').replace(otherAddress, 'none')
  return `<!doctype html><style nonce="${nonce}">${sheet}</style>${page.body.innerHTML}`
}

/** What the policy would refuse: handlers, and what is loaded from elsewhere. */
function isRefused(name: string, value: string): boolean {
  if (/^(data-mail-)?on/.test(name) || name === 'srcset' || name === 'background' || name === 'poster')
    return true
  return name === 'src' && !value.startsWith('data:')
}

const otherAddress = /(@import\s+[^;]+;?)|url\(\s*(?!["']?data:)[^)]*\)/gi
