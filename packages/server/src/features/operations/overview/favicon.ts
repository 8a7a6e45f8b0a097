import { logo } from '../../../lib/page.ts'

/** Icon as a file of its own. It needs the namespace that HTML implies. */
export const faviconSvg = logo.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')

/** Icon of 32 pixels, for clients that request `/favicon.ico` without reading the page. */
export const favicon = Buffer.from(
  'AAABAAEAICAAAAEAIAAXAQAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAgAAAAIAgGAAAAc3p69AAAAN5JREFUeNrtjkEKgkAU' +
    'ht15EN3pCSJyHbhqE9kZxA4QGQzNAYJuUNI6QesSGrTMg8zO5o8EG3A5lvAefPCYN/B9hkEz1Bmxs+XxUwqw9ya295k54Sfm' +
    '8URI6g8Cb7hplY/50fd2SdUSfyNv+KMtoFOsQAHDD3DnoeUEUQqw9xZgT0NTSpmziIQbrGqAHW+4aQ1wl5EvZVUjVsFNb0CH' +
    'uM3gAtbZw4qvZQqw9xYQZk8zzgu2yUsh5TV47/INN60Bs8NFyoqqEavgtr3dfW0BXWIVCqAACqAACvi/AJpfzQsu7xyD9GmS' +
    'gQAAAABJRU5ErkJggg==',
  'base64',
)
