/**
 * The HTTP routes `GET /skills` and `GET /skills/{name}`, with the schemas of the tools. It does not authenticate:
 * `surfaces/http/` does, and tells it who the caller is.
 */
import { Hono } from 'hono';
import type { Web } from '../../core/feature.ts';
import { answerWithJson } from '../../platform/http/answer.ts';
import { showSkill, showSkillList } from './schema.ts';
import type { Skills } from './skills.ts';

/** `GET /skills`: what list_skills gives; `GET /skills/{name}`, with `?file=` for another file: what read_skill does. */
export function createSkillRoutes(skills: Skills, { callerOf, noted, log }: Web): Hono {
  const routes = new Hono();
  const answered = (act: () => Promise<unknown>) => answerWithJson(act, '/skills', log);
  routes.get('/skills', ({ env }) =>
    answered(() =>
      noted({ operation: 'list_skills', user: callerOf(env).user, subject: null }, async () =>
        showSkillList(await skills.list(), await skills.listTools()),
      ),
    ),
  );
  routes.get('/skills/:name', ({ req, env }) =>
    answered(() => {
      const [name, file = 'SKILL.md'] = [req.param('name'), req.query('file')];
      return noted({ operation: 'read_skill', user: callerOf(env).user, subject: name }, async () =>
        showSkill(await skills.read(name, file)),
      );
    }),
  );
  return routes;
}
