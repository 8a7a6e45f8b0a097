import { readFileSync } from 'node:fs'
import starlight from '@astrojs/starlight'
import { defineConfig, passthroughImageService } from 'astro/config'

const sidebar = JSON.parse(readFileSync(new URL('src/sidebar.json', import.meta.url), 'utf8'))

export default defineConfig({
  base: '/docs',
  trailingSlash: 'never',
  // Pictures are small already.
  image: { service: passthroughImageService() },
  // The server's policy allows no inline code.
  vite: { build: { assetsInlineLimit: 0 } },
  build: { inlineStylesheets: 'never' },
  devToolbar: { enabled: false },
  integrations: [
    starlight({
      title: 'Basalt',
      logo: { src: './src/assets/logo.svg' },
      favicon: '/favicon.svg',
      customCss: ['./src/styles/site.css'],
      sidebar,
      credits: false,
      pagination: true,
      tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
      expressiveCode: { themes: ['github-light', 'github-dark'], styleOverrides: { borderRadius: '0.4rem' } },
    }),
  ],
})
