import { defineErrors } from '../../../lib/errors.ts'

export const scheduleErrorTable = {
  invalidScheduleId: {
    status: 400,
    message: 'invalid schedule id format',
    help: 'Send the UUID of a schedule as its id.',
  },
  missingScheduleField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'A field of the body is missing or empty. The message names it.',
  },
  scheduleNameTooLong: {
    status: 400,
    message: 'name must be at most 100 characters',
    help: 'Choose a shorter name. Put further data into the payload.',
  },
  invalidScheduleName: {
    status: 400,
    message: 'name: expected Unicode text without NUL',
    help: 'PostgreSQL cannot store the character U+0000 or half of a surrogate pair. Remove it from the name.',
  },
  reservedScheduleName: {
    status: 400,
    message: 'name must not begin with "function:"',
    help: 'Schedules of functions have such names. Choose another name.',
  },
  invalidCronExpression: {
    status: 400,
    message: 'invalid cron expression',
    help: 'Send five fields: minute, hour, day of the month, month, weekday, such as `*/15 9-17 * * mon-fri`.',
  },
  invalidTimezone: {
    status: 400,
    message: 'invalid timezone',
    help: 'Send a name of the IANA time zone database, such as `Europe/Berlin` or `UTC`.',
  },
  immutableScheduleField: {
    status: 400,
    message: (field: string) => `${field} cannot be changed`,
    help: 'Name, job type and attempts of a schedule are fixed. Create another schedule.',
  },
  scheduleNotFound: {
    status: 404,
    message: 'schedule not found',
    help: 'No schedule has this id.',
  },
  scheduleOfFunction: {
    status: 409,
    message: 'a function defines the schedule',
    help: 'Change the function and deploy it, or remove it from the folder `functions`. The schedule itself can only be enabled and disabled.',
  },
  scheduleNameTaken: {
    status: 409,
    message: 'schedule name already taken',
    help: 'Another schedule has this name. Choose another name.',
  },
} as const

export const scheduleErrors = defineErrors(scheduleErrorTable)
