import { parseInert } from '../../ui/inert-html.ts'

/**
 * Prepares the HTML of a mail for a frame without scripts. The frame has the Content Security Policy of the page: styles need
 * its nonce, and style attributes are refused, so they become rules. Images from other hosts are replaced by their alternative
 * text. Misread HTML is shown differently but cannot run, because the frame is sandboxed.
 */
export function sandboxHtml(html: string, nonce: string): string {
  // This happens before parsing, because the policy also refuses these in documents that are not shown.
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
  // Rules must not end their element.
  const sheet = rules.join('\n').replaceAll('<', '\\3c ').replace(otherAddress, 'none')
  return `<!doctype html><style nonce="${nonce}">${sheet}</style>${page.body.innerHTML}`
}

/** Returns true for attributes that the policy refuses: event handlers, and resources of other hosts. */
function isRefused(name: string, value: string): boolean {
  if (/^(data-mail-)?on/.test(name) || name === 'srcset' || name === 'background' || name === 'poster')
    return true
  return name === 'src' && !value.startsWith('data:')
}

const otherAddress = /(@import\s+[^;]+;?)|url\(\s*(?!["']?data:)[^)]*\)/gi
