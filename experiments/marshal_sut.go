package experiments

import "github.com/faultline-go/faultline/internal/yamldoc"

func sutOut(s SUT) *yamldoc.Out {
	o := &yamldoc.Out{}
	if s.Reference != nil {
		o.Put("reference", referenceOut(s.Reference))
	}
	if len(s.Replicas) > 0 {
		replicas := &yamldoc.Out{}
		for _, one := range s.Replicas {
			replicas.Put(one.Name, one.BaseURL)
		}
		o.Put("replicas", replicas)
	}
	o.PutIf(s.BaseURL != "", "base_url", s.BaseURL)
	if l := s.Launch; l != nil {
		var launch yamldoc.Out
		launch.Put("command", l.Command)
		launch.PutIf(l.Dir != "", "dir", l.Dir)
		launch.PutIf(len(l.Env) > 0, "env", l.Env)
		launch.Put("stop", l.Stop)
		o.Put("launch", &launch)
	}
	if r := s.Ready; r != nil {
		var ready yamldoc.Out
		ready.Put("get", r.Get)
		ready.Put("expect", r.Expect)
		ready.Put("timeout", r.Timeout)
		o.Put("ready", &ready)
	}
	o.PutIf(s.InstanceHeader != "", "instance_header", s.InstanceHeader)
	return o
}

func referenceOut(r *Reference) *yamldoc.Out {
	o := &yamldoc.Out{}
	putService(o, r)
	o.PutIf(r.Workers > 0, "workers", r.Workers)
	if len(r.Routes) > 0 {
		o.Put("routes", each(r.Routes, func(route Route) *yamldoc.Out {
			one := &yamldoc.Out{}
			one.Put("path", route.Path)
			if route.Respond != nil {
				one.Put("respond", respondOut(*route.Respond))
			} else {
				putService(one, route.Service)
			}
			return one
		}))
	}
	return o
}

// putService writes how the reference service treats one dependency.
func putService(o *yamldoc.Out, r *Reference) {
	o.Put("injector", r.Injector)
	if r.Model != nil {
		o.Put("model", modelOut(*r.Model))
	} else if r.Ejection == nil {
		breaker := &yamldoc.Out{}
		putConfig(breaker, r.Breaker)
		o.Put("breaker", breaker)
	}
	o.Put("failure", r.Failure.Words())
	o.Put("timeout", r.Timeout)
	o.PutIf(r.Cancels, "cancels", true)
	if r.Fallback != nil {
		o.Put("fallback", respondOut(*r.Fallback))
	}
	if c := r.Cache; c != nil {
		cache := &yamldoc.Out{}
		cache.Put("answers", c.Answers)
		cache.PutIf(c.MaxAge > 0, "max_age", c.MaxAge)
		o.Put("cache", cache)
	}
	o.PutIf(r.Pool > 0, "pool", r.Pool)
	putPolicies(o, r.Policies)
	if r.Ejection != nil {
		o.Put("ejection", ejectOut(r.Ejection))
	}
	if r.Paging != nil {
		paging := &yamldoc.Out{}
		paging.Put("items", r.Paging.Items)
		paging.Put("page", r.Paging.Page)
		paging.Put("on_switch", r.Paging.OnSwitch)
		o.Put("paging", paging)
	}
	o.PutIf(r.Defect != "", "defect", r.Defect)
}
